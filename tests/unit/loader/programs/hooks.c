// Start and end functions: order, once per rank; exit() from a nested call.
#include <stdlib.h>
#include <string.h>

#include "test_api.h"

__attribute__((constructor(200))) static void early(void) { test_trace("c200"); }
__attribute__((constructor)) static void late(int argc, char** argv, char** envp) {
  test_trace(argc > 0 && argv[0] != NULL && envp != NULL ? "c" : "bad");
}
__attribute__((destructor(200))) static void last(void) { test_trace("d200"); }
__attribute__((destructor)) static void finish(void) { test_trace("d"); }

static void leave(int status) {
  test_exit(status);
  test_trace("returned");
}

int main(int argc, char** argv) {
  test_trace("main");
  if (argc > 1 && strcmp(argv[1], "exit") == 0) leave(300 + 5);
  return 9;
}
