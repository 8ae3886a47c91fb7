/* A lock and a start return before the other side lets operations in; these go while the origin computes. The first and
   the last rank are on different cores, except with the argument "near", where only results count; and in different
   processes, except with the argument "here": there a fence waits. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kLong = 200000 };

static int rank, size, last;
static volatile long* flag; /* of the second window: this rank may go on */
static MPI_Win flags;

/* Calls nothing of MPI. */
static void compute_until(const volatile long* word, long value) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) continue;
}

static void raise_flag(int target, long value) {
  MPI_Win_lock(MPI_LOCK_SHARED, target, 0, flags);
  MPI_Accumulate(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_REPLACE, flags);
  MPI_Win_unlock(target, flags);
}

static void tell(int to) { MPI_Send(NULL, 0, MPI_BYTE, to, 0, MPI_COMM_WORLD); }
static void hear(int from) {
  MPI_Recv(NULL, 0, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The last rank holds its lock until rank 0 has called all that waits for it. */
static void behind_a_lock(long* memory, MPI_Win win) {
  long *data = malloc(kLong * sizeof *data), *got = calloc(kLong, sizeof *got);
  long one = 1, old = -1, compare = 0, swapped = -1;
  *flag = 0;
  memset(memory, 0, kLong * sizeof *memory);
  for (int i = 0; i < kLong; ++i) data[i] = i + 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Request request;
    int is_over = -1;
    hear(last);
    CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win) == MPI_SUCCESS);
    CHECK(MPI_Fetch_and_op(&one, &old, MPI_LONG, last, 0, MPI_SUM, win) == MPI_SUCCESS);
    CHECK(MPI_Compare_and_swap(&one, &compare, &swapped, MPI_LONG, last, 1, win) ==
          MPI_SUCCESS);
    MPI_Put(data + 2, kLong - 2, MPI_LONG, last, 2, kLong - 2, MPI_LONG, win);
    CHECK(MPI_Rput(data + 1, 1, MPI_LONG, last, 1, 1, MPI_LONG, win, &request) ==
          MPI_SUCCESS);
    MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
    CHECK(!is_over);
    tell(last);
    compute_until(flag, 1); /* the target has seen the data */
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Win_flush_local(last, win) == MPI_SUCCESS);
    CHECK(old == 0 && swapped == 0);
    MPI_Get(got, kLong, MPI_LONG, last, 0, kLong, MPI_LONG, win);
    CHECK(MPI_Win_unlock(last, win) == MPI_SUCCESS);
    CHECK(memcmp(got + 1, data + 1, (kLong - 1) * sizeof *got) == 0 && got[0] == 1);
  } else if (rank == last) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
    tell(0);
    hear(0);
    CHECK(memory[0] == 0);
    MPI_Win_unlock(last, win);
    compute_until(&memory[0], 1);
    compute_until(&memory[1], 2);
    for (int i = 2; i < kLong; ++i) compute_until(&memory[i], i + 1);
    raise_flag(0, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  free(data);
  free(got);
}

/* The last rank posts when rank 0 has completed three epochs of short data. */
static void before_the_post(long* memory, MPI_Win win, MPI_Group origin,
                            MPI_Group target) {
  memset(memory, 0, 10 * sizeof *memory);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (long epoch = 1; epoch <= 3; ++epoch) {
      long data[10];
      for (int i = 0; i < 10; ++i) data[i] = 100 * epoch + i;
      CHECK(MPI_Win_start(target, 0, win) == MPI_SUCCESS);
      CHECK(MPI_Put(data, 9, MPI_LONG, last, 0, 9, MPI_LONG, win) == MPI_SUCCESS);
      MPI_Accumulate(&data[9], 1, MPI_LONG, last, 9, 1, MPI_LONG, MPI_SUM, win);
      CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
      memset(data, -1, sizeof data);
    }
    tell(last);
  } else if (rank == last) {
    long sum = 0;
    hear(0);
    CHECK(memory[0] == 0);
    for (long epoch = 1; epoch <= 3; ++epoch) {
      CHECK(MPI_Win_post(origin, 0, win) == MPI_SUCCESS);
      if (epoch == 2) {
        for (int is_over = 0; !is_over;) MPI_Win_test(win, &is_over);
      } else {
        CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
      }
      sum += 100 * epoch + 9;
      for (int i = 0; i < 9; ++i) CHECK(memory[i] == 100 * epoch + i);
      CHECK(memory[9] == sum);
    }
  }
  /* Also where the origin does nothing else before the end of the window. */
}

/* Long data go when the post comes, while the origin computes. */
static void long_ones_at_the_post(long* memory, MPI_Win win, MPI_Group origin,
                                  MPI_Group target) {
  long* data = malloc(kLong * sizeof *data);
  *flag = 0;
  memset(memory, 0, kLong * sizeof *memory);
  for (int i = 0; i < kLong; ++i) data[i] = i + 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_start(target, 0, win);
    MPI_Put(data, kLong, MPI_LONG, last, 0, kLong, MPI_LONG, win);
    tell(last);
    compute_until(flag, 1);
    MPI_Win_complete(win);
  } else if (rank == last) {
    hear(0);
    CHECK(memory[0] == 0);
    MPI_Win_post(origin, 0, win);
    for (int i = 0; i < kLong; ++i) compute_until(&memory[i], i + 1);
    raise_flag(0, 1);
    MPI_Win_wait(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  free(data);
}

/* The others come to the fence when rank 0 has left it. */
static void before_the_fence(long* memory, MPI_Win win) {
  long *data = malloc(kLong * sizeof *data), got = -1;
  *flag = 0;
  memset(memory, 0, kLong * sizeof *memory);
  for (int i = 0; i < kLong; ++i) data[i] = i + 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    CHECK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win) == MPI_SUCCESS);
    CHECK(MPI_Put(data, kLong, MPI_LONG, last, 0, kLong, MPI_LONG, win) == MPI_SUCCESS);
    CHECK(MPI_Accumulate(data, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, flags) !=
          MPI_SUCCESS); /* no epoch of the other window */
    tell(last);
    compute_until(flag, 1);
    /* Here all have come: an operation goes at once, also on this rank. */
    CHECK(MPI_Get(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win) == MPI_SUCCESS);
    CHECK(got == 0);
  } else {
    if (rank == last) hear(0);
    CHECK(memory[0] == 0);
    CHECK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win) == MPI_SUCCESS);
  }
  if (rank == last) {
    for (int i = 0; i < kLong; ++i) compute_until(&memory[i], i + 1);
    raise_flag(0, 1);
  }
  CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win) == MPI_SUCCESS);
  /* Nothing between two such fences, and another kind of epoch behind one of them. */
  for (int i = 0; i < 10; ++i) MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
  MPI_Get(&got, 1, MPI_LONG, last, 1, 1, MPI_LONG, win);
  MPI_Win_unlock(last, win);
  CHECK(got == 2);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  free(data);
}

/* All ranks lock two targets in the same order. */
static void two_locks(long* memory, MPI_Win win) {
  memory[0] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < 20; ++turn) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
    for (int i = 0; i < 2; ++i) {
      const int to = i == 0 ? last : 0;
      long seen = -1;
      MPI_Get(&seen, 1, MPI_LONG, to, 0, 1, MPI_LONG, win);
      MPI_Win_flush(to, win);
      ++seen;
      MPI_Put(&seen, 1, MPI_LONG, to, 0, 1, MPI_LONG, win);
      MPI_Win_unlock(to, win);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK((rank != 0 && rank != last) || memory[0] == 20 * size);
}

int main(int argc, char** argv) {
  long *memory, *flag_memory;
  MPI_Win win;
  MPI_Group world, origin, target;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  last = size - 1;
  MPI_Win_allocate(kLong * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &memory, &win);
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &flag_memory, &flags);
  flag = flag_memory;
  MPI_Win_set_errhandler(flags, MPI_ERRORS_RETURN);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, (int[]){0}, &origin);
  MPI_Group_incl(world, 1, &last, &target);
  two_locks(memory, win);
  const int is_here = argc > 1 && strcmp(argv[1], "here") == 0;
  if (argc < 2 || is_here) {
    behind_a_lock(memory, win);
    long_ones_at_the_post(memory, win, origin, target);
    if (!is_here) before_the_fence(memory, win);
    before_the_post(memory, win, origin, target);
  }
  MPI_Win_free(&win);
  MPI_Win_free(&flags);
  MPI_Group_free(&origin);
  MPI_Group_free(&target);
  MPI_Group_free(&world);
  return finish();
}
