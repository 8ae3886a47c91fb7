// Rarer contents of files: indirect functions, large alignment, no data at all elsewhere.
#include <stdint.h>

#include "test_check.h"

static int resolved(void) { return 5; }
static int (*resolve(void))(void) { return resolved; }
int indirect(void) __attribute__((ifunc("resolve")));
int (*indirect_pointer)(void) = indirect;
_Alignas(65536) int aligned = 3;
static int array[10];
int* one_past_end = array + 10;

int main(void) {
  const int rank = test_rank();
  CHECK_THAT(indirect() == 5 && indirect_pointer() == 5);
  CHECK_THAT(((uintptr_t)&aligned & 65535) == 0 && aligned == 3);
  CHECK_THAT(one_past_end - array == 10);
  aligned = rank;
  array[9] = rank;
  CHECK_THAT(one_past_end[-1] == rank && aligned == rank);
  return check_failures;
}
