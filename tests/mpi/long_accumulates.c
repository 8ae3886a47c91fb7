/* Accumulates of many elements and of single ones on the same memory, by all ranks at once: nothing is lost, whichever
 * comes first; then through derived types, and elements that no processor changes at once. */
#include <mpi.h>
#include <stdlib.h>

#include "check.h"

enum { WORDS = 3000, ROUNDS = 20, SINGLES = 50 };

static int rank, size;

/* is_single_first: single operations come before the first long one. */
static void mix(MPI_Win win, long* memory, int target, int is_single_first) {
  static long ones[WORDS], old[WORDS];
  const long one = 1, zero = 0;
  long got, sum = 0, last = -1;
  for (int i = 0; i < WORDS; ++i) ones[i] = 1;
  for (int i = 0; i < WORDS; ++i) memory[i] = 0;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < ROUNDS; ++i) {
    if (i > 0 || !is_single_first)
      MPI_Accumulate(ones, WORDS, MPI_LONG, target, 0, WORDS, MPI_LONG, MPI_SUM, win);
    for (int k = 0; k < SINGLES; ++k) {
      MPI_Fetch_and_op(&one, &got, MPI_LONG, target, 5, MPI_SUM, win);
      MPI_Win_flush(target, win);
      CHECK(got > last);
      last = got;
    }
    MPI_Get_accumulate(ones, WORDS, MPI_LONG, old, WORDS, MPI_LONG, target, 0, WORDS,
                       MPI_LONG, MPI_SUM, win);
    MPI_Win_flush(target, win);
    CHECK(old[0] >= i && old[WORDS - 1] >= i && old[5] > last);
    last = old[5];
    /* A swap that finds nothing to swap, and a read. */
    MPI_Compare_and_swap(&zero, &one, &got, MPI_LONG, target, 2999, win);
    MPI_Get_accumulate(NULL, 0, MPI_LONG, old, WORDS, MPI_LONG, target, 0, WORDS,
                       MPI_LONG, MPI_NO_OP, win);
    MPI_Win_flush(target, win);
    sum += old[7];
  }
  CHECK(sum > 0);
  MPI_Win_flush_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  if (rank == target) {
    const long each = (long)size * (2 * ROUNDS - (is_single_first ? 1 : 0));
    long wrong = 0;
    for (int i = 0; i < WORDS - 1; ++i)
      wrong += memory[i] != each + (i == 5 ? (long)size * ROUNDS * SINGLES : 0);
    CHECK(wrong == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Every second word, and long doubles. */
static void layouts(MPI_Win win, long* memory) {
  static long ones[WORDS];
  static long double more[200];
  MPI_Datatype second;
  const int target = (rank + 1) % size;
  for (int i = 0; i < WORDS; ++i) memory[i] = 0, ones[i] = i;
  for (int i = 0; i < 200; ++i) more[i] = i + 0.5L;
  MPI_Type_vector(WORDS / 2, 1, 2, MPI_LONG, &second);
  MPI_Type_commit(&second);
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Accumulate(ones, WORDS / 2, MPI_LONG, target, 0, 1, second, MPI_SUM, win);
  MPI_Accumulate(ones, 1, second, target, 1, 1, second, MPI_MAX, win);
  MPI_Win_flush(target, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  long wrong = 0;
  for (int i = 0; i < WORDS / 2; ++i)
    wrong += memory[2 * i] != i || memory[2 * i + 1] != 2 * i;
  CHECK(wrong == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < WORDS; ++i) memory[i] = 0;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Accumulate(more, 200, MPI_LONG_DOUBLE, 0, 0, 200, MPI_LONG_DOUBLE, MPI_SUM, win);
  MPI_Win_flush(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  for (int i = 0; rank == 0 && i < 200; ++i)
    CHECK(((long double*)memory)[i] == size * (i + 0.5L));
  MPI_Type_free(&second);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  long* memory;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int first = 0; first < 2; ++first) {
    /* A new window each time: what its first long operation changes stays. */
    for (int target = 0; target < size && target < 3; ++target) {
      MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL,
                       MPI_COMM_WORLD, &memory, &win);
      MPI_Win_lock_all(0, win);
      mix(win, memory, target, first);
      if (target == 0) layouts(win, memory);
      MPI_Win_unlock_all(win);
      MPI_Win_free(&win);
    }
  }
  /* Memory that all load and store, also that of processes of one host. */
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int members;
  MPI_Comm_size(node, &members);
  if (members == size) {
    MPI_Win_allocate_shared(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, node,
                            &memory, &win);
    MPI_Win_lock_all(0, win);
    mix(win, memory, size - 1, 0);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
  MPI_Comm_free(&node);
  return finish();
}
