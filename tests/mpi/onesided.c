/* Operations on windows in all kinds of epochs. */
#include <string.h>

#include "check.h"

static int rank, size, next, previous;

/* Vectors on one side, plain elements on the other, in both directions. */
static void derived(void) {
  int memory[32] = {0}, out[8], in[8] = {0};
  MPI_Datatype every_other;
  MPI_Win win;
  MPI_Type_vector(8, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  for (int i = 0; i < 8; ++i) out[i] = 10 * rank + i;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &win);
  MPI_Win_fence(0, win);
  CHECK(MPI_Put(out, 8, MPI_INT, next, 1, 1, every_other, win) == MPI_SUCCESS);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 16; ++i)
    CHECK(memory[i] == (i % 2 == 1 ? 10 * previous + i / 2 : 0));
  CHECK(MPI_Get_c(in, 8, MPI_INT, rank, 1, 1, every_other, win) == MPI_SUCCESS);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 8; ++i) CHECK(in[i] == 10 * previous + i);
  CHECK(MPI_Accumulate(out, 8, MPI_INT, next, 1, 1, every_other, MPI_SUM, win) ==
        MPI_SUCCESS);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 8; ++i) CHECK(memory[2 * i + 1] == 2 * (10 * previous + i));
  MPI_Win_free(&win);
  MPI_Type_free(&every_other);
}

static void bottom(void) {
  int value = 7 + rank, memory = 0;
  MPI_Aint address;
  MPI_Datatype absolute;
  MPI_Win win;
  MPI_Get_address(&value, &address);
  int length = 1;
  MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  CHECK(MPI_Put_c(MPI_BOTTOM, 1, absolute, next, 0, 1, MPI_INT, win) == MPI_SUCCESS);
  MPI_Win_fence(0, win);
  CHECK(memory == 7 + previous);
  MPI_Win_free(&win);
  MPI_Type_free(&absolute);
}

static void nobody(MPI_Win win) {
  int value = 1, got = 2;
  MPI_Request request;
  CHECK(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win) == MPI_SUCCESS);
  CHECK(MPI_Get(&got, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win) == MPI_SUCCESS);
  CHECK(MPI_Fetch_and_op(&value, &got, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win) ==
        MPI_SUCCESS);
  CHECK(MPI_Compare_and_swap(&value, &value, &got, MPI_INT, MPI_PROC_NULL, 0, win) ==
        MPI_SUCCESS);
  CHECK(MPI_Rput(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request) ==
        MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win) == MPI_SUCCESS);
  CHECK(MPI_Win_flush(MPI_PROC_NULL, win) == MPI_SUCCESS);
  CHECK(MPI_Win_unlock(MPI_PROC_NULL, win) == MPI_SUCCESS);
  CHECK(got == 2);
}

/* All add to rank 0, in locks of both kinds and in a lock of all. */
static void counters(MPI_Win win, long* memory) {
  long one = 1, got = -1, old = 0;
  for (int i = 0; i < 20; ++i) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    CHECK(MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, win) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS);
    CHECK(got >= old);
    old = got + 1;
    MPI_Win_unlock(0, win);
    /* Read, add, write: right only if nobody comes between. */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&got, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
    MPI_Win_flush_local(0, win);
    ++got;
    MPI_Put(&got, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Win_lock_all(0, win);
  for (int r = 0; r < size; ++r) {
    CHECK(MPI_Accumulate_c(&one, 1, MPI_LONG, r, 2, 1, MPI_LONG, MPI_SUM, win) ==
          MPI_SUCCESS);
    CHECK(MPI_Win_flush_local_all(win) == MPI_SUCCESS);
  }
  CHECK(MPI_Win_flush_all(win) == MPI_SUCCESS);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  if (rank == 0) CHECK(memory[0] == 20L * size && memory[1] == 20L * size);
  CHECK(memory[2] == size);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A lock of the program's own: whoever has it may switch away, and the others look again and again. */
static void own_lock(MPI_Win win) {
  long zero = 0, me = rank + 1, got = -1, value = 0;
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  for (int turn = 0; turn < 5; ++turn) {
    do {
      MPI_Compare_and_swap(&me, &zero, &got, MPI_LONG, 0, 3, win);
      MPI_Win_flush(0, win);
    } while (got != 0);
    MPI_Get(&value, 1, MPI_LONG, 0, 4, 1, MPI_LONG, win);
    MPI_Win_flush(0, win);
    MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &(int){0}, MPI_STATUS_IGNORE);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, 0, 4, 1, MPI_LONG, win);
    MPI_Win_flush(0, win);
    CHECK(MPI_Fetch_and_op(&zero, &got, MPI_LONG, 0, 3, MPI_REPLACE, win) ==
          MPI_SUCCESS);
    MPI_Win_flush(0, win);
    CHECK(got == me);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Get(&value, 1, MPI_LONG, 0, 4, 1, MPI_LONG, win);
  MPI_Win_flush(0, win);
  CHECK(value == 5L * size);
  MPI_Win_unlock_all(win);
}

static void requests(MPI_Win win) {
  long out = 40 + rank, in = -1, two = 2;
  MPI_Request all[4];
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
  CHECK(MPI_Rput(&out, 1, MPI_LONG, next, 5, 1, MPI_LONG, win, &all[0]) == MPI_SUCCESS);
  CHECK(MPI_Win_flush(next, win) ==
        MPI_SUCCESS); /* puts have no order with accumulates */
  CHECK(MPI_Raccumulate(&two, 1, MPI_LONG, next, 5, 1, MPI_LONG, MPI_PROD, win,
                        &all[1]) == MPI_SUCCESS);
  CHECK(MPI_Waitall(2, all, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Rget_accumulate(&two, 1, MPI_LONG, &in, 1, MPI_LONG, next, 5, 1, MPI_LONG,
                            MPI_SUM, win, &all[2]) == MPI_SUCCESS);
  CHECK(MPI_Wait(&all[2], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(in == 2 * out);
  CHECK(MPI_Rget(&in, 1, MPI_LONG, next, 5, 1, MPI_LONG, win, &all[3]) == MPI_SUCCESS);
  int flag = 0;
  MPI_Status status;
  while (!flag) CHECK(MPI_Test(&all[3], &flag, &status) == MPI_SUCCESS);
  CHECK(all[3] == MPI_REQUEST_NULL && in == 2 * out + 2);
  MPI_Win_unlock(next, win);
}

/* The large-count and the fetching forms. */
static void large_forms(MPI_Win win) {
  long out = 3, in = -1;
  MPI_Request request[4];
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
  MPI_Rput_c(&out, 1, MPI_LONG, next, 6, 1, MPI_LONG, win, &request[0]);
  MPI_Win_flush(next, win);
  MPI_Raccumulate_c(&out, 1, MPI_LONG, next, 6, 1, MPI_LONG, MPI_SUM, win, &request[1]);
  MPI_Rget_accumulate_c(&out, 1, MPI_LONG, &in, 1, MPI_LONG, next, 6, 1, MPI_LONG,
                        MPI_NO_OP, win, &request[2]);
  MPI_Wait(&request[2], MPI_STATUS_IGNORE);
  CHECK(in == 6);
  MPI_Rget_c(&in, 1, MPI_LONG, next, 6, 1, MPI_LONG, win, &request[3]);
  MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
  CHECK(in == 6);
  CHECK(MPI_Get_accumulate(NULL, 0, MPI_LONG, &in, 1, MPI_LONG, next, 6, 1, MPI_LONG,
                           MPI_NO_OP, win) == MPI_SUCCESS);
  CHECK(MPI_Get_accumulate_c(&out, 1, MPI_LONG, &in, 1, MPI_LONG, next, 6, 1, MPI_LONG,
                             MPI_REPLACE, win) == MPI_SUCCESS);
  MPI_Win_flush(next, win);
  CHECK(in == 6);
  CHECK(MPI_Fetch_and_op(NULL, &in, MPI_LONG, next, 6, MPI_NO_OP, win) == MPI_SUCCESS);
  MPI_Win_flush(next, win);
  CHECK(in == 3);
  MPI_Win_unlock(next, win);
}

static void posts(MPI_Win win, long* memory) {
  MPI_Group world, to, from;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &next, &to);
  MPI_Group_incl(world, 1, &previous, &from);
  for (int turn = 1; turn <= 6; ++turn) {
    long value = 1000L * turn + rank;
    MPI_Win_post(from, turn == 2 ? MPI_MODE_NOSTORE : 0, win);
    MPI_Win_start(to, 0, win);
    CHECK(MPI_Put(&value, 1, MPI_LONG, next, 7, 1, MPI_LONG, win) == MPI_SUCCESS);
    CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
    if (turn % 2 == 0) {
      int flag = 0;
      while (!flag) CHECK(MPI_Win_test(win, &flag) == MPI_SUCCESS);
    } else {
      CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
    }
    CHECK(memory[7] == 1000L * turn + previous);
  }
  MPI_Group_free(&world);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
}

/* Pairs, and a type whose elements have no processor's atomics. */
static void pairs(void) {
  struct {
    double value;
    int index;
  } memory = {-1, -1}, mine = {rank % 7, rank}, got;
  long double sum[1] = {0}, one = 1;
  MPI_Win win, sums;
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_create(sum, sizeof sum, sizeof *sum, MPI_INFO_NULL, MPI_COMM_WORLD, &sums);
  MPI_Win_fence(0, win);
  MPI_Win_fence(0, sums);
  CHECK(MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC,
                       win) == MPI_SUCCESS);
  CHECK(MPI_Accumulate(&one, 1, MPI_LONG_DOUBLE, 0, 0, 1, MPI_LONG_DOUBLE, MPI_SUM,
                       sums) == MPI_SUCCESS);
  MPI_Win_fence(0, win);
  MPI_Win_fence(0, sums);
  int best = size > 7 ? 6 : size - 1;
  CHECK(MPI_Fetch_and_op(&mine, &got, MPI_DOUBLE_INT, 0, 0, MPI_NO_OP, win) ==
        MPI_SUCCESS);
  MPI_Win_fence(0, win);
  CHECK(got.value == best && got.index == best);
  if (rank == 0) CHECK(sum[0] == size);
  MPI_Win_fence(0, win);
  MPI_Win_free(&sums);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  derived();
  bottom();
  long* memory;
  MPI_Win win;
  MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &memory, &win);
  memset(memory, 0, 8 * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  nobody(win);
  counters(win, memory);
  own_lock(win);
  requests(win);
  large_forms(win);
  MPI_Barrier(MPI_COMM_WORLD);
  posts(win, memory);
  MPI_Win_free(&win);
  pairs();
  return finish();
}
