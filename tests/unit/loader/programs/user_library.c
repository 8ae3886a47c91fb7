// A user's own library with state, that calls back into the program and into a second one.
#include "user_library.h"

#include "test_api.h"

int library_counter = 10;
static int hidden = 20;
int* library_pointer = &library_counter;
_Thread_local int library_thread_variable = 30;

__attribute__((constructor)) static void start(void) { test_trace("lib+"); }
__attribute__((destructor)) static void end(void) { test_trace("lib-"); }

int library_add(int value) {
  library_counter += value;
  hidden += value;
  return program_callback(hidden) + second_add(value);
}
