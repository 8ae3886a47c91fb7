#include "test_check.h"
#include "user_library.h"

static int callbacks;
int program_callback(int value) {
  ++callbacks;
  return value;
}

__attribute__((constructor)) static void start(void) { test_trace("program+"); }
__attribute__((destructor)) static void end(void) { test_trace("program-"); }

int main(int argc, char** argv) {
  (void)argv;
  const int rank = test_rank();
  CHECK_THAT(library_counter == 10 && library_pointer == &library_counter);
  CHECK_THAT(library_thread_variable == 30);
  library_thread_variable = rank;
  CHECK_THAT(library_add(rank) == 20 + rank + 1000 + rank);
  CHECK_THAT(library_counter == 10 + rank && *library_pointer == 10 + rank);
  CHECK_THAT(callbacks == 1 && library_thread_variable == rank);
  if (argc > 1) {
    CHECK_THAT(overridden() == 101 && overridden() == 102);
  } else {
    CHECK_THAT(overridden() == 1);
  }
  return check_failures;
}
