// A program in C whose library brings one in C++ along: it has std::cin and its companions.
// Input: "0 1 2 ... 99\n" for rank 0, nothing for the others.
#include <dlfcn.h>

#include "host_api.h"

int main(void) {
  void* handle = dlopen("libplugin_streams_user.so", RTLD_NOW);
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*ask)(int) = (int (*)(int))dlsym(handle, "ask_streams");
  CHECK_THAT(ask(test_rank()) == (test_rank() == 0 ? 100 : 0));
  return check_failures != 0;
}
