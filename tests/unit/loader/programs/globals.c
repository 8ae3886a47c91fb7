// Globals, statics, thread_locals and pointers to them, in C.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_check.h"

int initialised = 42;
int zero;
static int hidden_static = 7;
int* pointer = &initialised;
static int table[1000] = {1, 2, 3};
const char* const names[] = {"zero", "one", "two"};
_Thread_local int thread_variable = 77;
static _Thread_local int thread_zero;
_Thread_local int* thread_pointer = &initialised;
char large_zero[LARGE_BYTES];
extern char** environ;

static int count_calls(void) {
  static int calls;
  return ++calls;
}

int main(int argc, char** argv) {
  const int rank = test_rank();
  CHECK_THAT(argc == 2 && strcmp(argv[1], "argument") == 0 && argv[2] == NULL);
  CHECK_THAT(initialised == 42 && zero == 0 && hidden_static == 7);
  CHECK_THAT(pointer == &initialised && table[2] == 3 && table[999] == 0);
  CHECK_THAT(strcmp(names[2], "two") == 0);
  CHECK_THAT(thread_variable == 77 && thread_zero == 0);
  CHECK_THAT(*(int* volatile*)&thread_pointer == &initialised);
  CHECK_THAT(count_calls() == 1);
  CHECK_THAT(large_zero[0] == 0 && large_zero[LARGE_BYTES - 1] == 0);
  CHECK_THAT(environ != NULL && environ[0] != NULL);
  for (int round = 0; round < 20; ++round) {
    initialised = 1000 + rank;
    zero = rank;
    hidden_static = -rank;
    table[999] = rank;
    thread_variable = rank;
    thread_zero = -rank;
    large_zero[LARGE_BYTES - 1] = (char)rank;
    usleep(100);
    CHECK_THAT(initialised == 1000 + rank && *pointer == 1000 + rank);
    CHECK_THAT(zero == rank && hidden_static == -rank && table[999] == rank);
    CHECK_THAT(thread_variable == rank && thread_zero == -rank);
    CHECK_THAT(large_zero[LARGE_BYTES - 1] == (char)rank);
  }
  CHECK_THAT(count_calls() == 2);
  return check_failures;
}
