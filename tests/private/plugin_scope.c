// Without -rdynamic a library's own symbols come before the program's; with it (argument
// "exported") after them. What only the program has is found in both cases.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "host_api.h"

int only_program = 40;
int shared_name(void) { return 1; }

int main(int argc, char** argv) {
  const int expected = argc > 1 && strcmp(argv[1], "exported") == 0 ? 1 : 2;
  only_program += test_rank();
  void* handle = dlopen("libplugin_own.so", RTLD_NOW);  // by the program's RUNPATH
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*ask_shared_name)(void) = (int (*)(void))dlsym(handle, "ask_shared_name");
  int (*ask_program)(void) = (int (*)(void))dlsym(handle, "ask_program");
  CHECK_THAT(ask_shared_name() == expected);
  CHECK_THAT(ask_program() == 40 + test_rank());
  CHECK_THAT(dlmopen(LM_ID_NEWLM, "libplugin_own.so", RTLD_NOW) == NULL);
  CHECK_THAT(strstr(dlerror(), "dlmopen") != NULL);
  CHECK_THAT(dlmopen(LM_ID_BASE, "libplugin_own.so", RTLD_NOW) == handle);
  CHECK_THAT(dlclose(handle) == 0 && dlclose(handle) == 0);
  CHECK_THAT(dlclose(handle) == -1);
  CHECK_THAT(dlerror() != NULL);
  handle = dlopen("libplugin_own.so", RTLD_LAZY | RTLD_DEEPBIND);
  ask_shared_name = (int (*)(void))dlsym(handle, "ask_shared_name");
  CHECK_THAT(ask_shared_name != NULL && ask_shared_name() == 2);
  return check_failures != 0;
}
