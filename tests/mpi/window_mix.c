/* Epochs of all kinds one after the other, each with several targets at a time: what is queued, granted and sent must
   keep its order and its buffers, whichever process the targets live in. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kLong = 5000, kRounds = 20 };

static int rank, size, next, last;
static long *memory, *data;
static MPI_Win win;
static MPI_Group to, from;

/* The first elements of the window count for each member, the rest is `tail`. */
static long* tail(void) { return memory + 2 * size; }

static void clear(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  memset(memory, 0, (size_t)(2 * size + kLong) * sizeof *memory);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void shared_locks_in_any_order(void) {
  const long one = 1;
  clear();
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < size; ++i)
      MPI_Win_lock(MPI_LOCK_SHARED, (rank + i) % size, 0, win);
    for (int i = 0; i < size; ++i)
      MPI_Accumulate(&one, 1, MPI_LONG, i, rank, 1, MPI_LONG, MPI_SUM, win);
    for (int i = size - 1; i >= 0; --i) MPI_Win_unlock(i, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) CHECK(memory[i] == kRounds);
}

/* Read, change and write under a lock that all want. */
static void counters_by_requests(void) {
  int mine = 0;
  clear();
  for (int round = 0; round < kRounds; ++round) {
    const int target = round % size;
    long value = -1;
    MPI_Request request;
    mine += target == rank;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Rget(&value, 1, MPI_LONG, target, size, 1, MPI_LONG, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ++value;
    MPI_Rput(&value, 1, MPI_LONG, target, size, 1, MPI_LONG, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(target, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[size] == (long)mine * size);
}

static void buffers_after_a_local_flush(void) {
  clear();
  for (int target = 0; target < size; ++target) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    for (int i = 0; i < kLong; ++i) data[i] = rank * 100000L + i;
    MPI_Put(data, kLong, MPI_LONG, target, 2 * size, kLong, MPI_LONG, win);
    MPI_Win_flush_local(target, win);
    memset(data, -1, kLong * sizeof *data);
    MPI_Win_unlock(target, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const long who = tail()[0] / 100000;
  for (int i = 0; i < kLong; ++i) CHECK(tail()[i] == who * 100000 + i);
}

/* Each sends to the next; some post late, when the epoch of others is complete. */
static void layouts_around_a_ring(void) {
  MPI_Datatype comb;
  MPI_Type_vector(50, 1, 7, MPI_LONG, &comb);
  MPI_Type_commit(&comb);
  clear();
  for (int epoch = 0; epoch < 5; ++epoch) {
    int is_over = 0;
    for (int i = 0; i < 350; ++i) data[i] = epoch * 1000 + i;
    if (rank % 2 == 1) usleep(1000);
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    MPI_Put(data, 1, comb, next, 2 * size, 1, comb, win);
    MPI_Win_complete(win);
    memset(data, -1, 350 * sizeof *data);
    if (epoch % 2 == 0) MPI_Win_wait(win);
    while (epoch % 2 == 1 && !is_over) MPI_Win_test(win, &is_over);
    for (int i = 0; i < 50; ++i) CHECK(tail()[7 * i] == epoch * 1000 + 7 * i);
  }
  MPI_Type_free(&comb);
}

static void counters_under_lock_all(void) {
  const long one = 1;
  int mine = 0;
  clear();
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 50; ++i) {
    long old = -1;
    mine += i % size == rank;
    MPI_Fetch_and_op(&one, &old, MPI_LONG, i % size, 1, MPI_SUM, win);
    MPI_Win_flush_local(i % size, win);
    CHECK(old >= 0);
  }
  MPI_Win_flush_all(win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[1] == (long)mine * size);
}

/* A lock that may not be held yet does not change what is wrong. */
static void mistakes_under_a_lock(void) {
  const long value = 0;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
  CHECK(MPI_Put(&value, 1, MPI_LONG, next, 1000000, 1, MPI_LONG, win) != MPI_SUCCESS);
  CHECK(MPI_Put(&value, 1, MPI_LONG, size, 0, 1, MPI_LONG, win) != MPI_SUCCESS);
  CHECK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win) != MPI_SUCCESS);
  CHECK(MPI_Win_free(&win) != MPI_SUCCESS);
  MPI_Win_unlock(next, win);
}

static void fences_with_all_assertions(void) {
  clear();
  for (long i = 0; i < kRounds; ++i) {
    MPI_Win_fence(i % 2 != 0 ? MPI_MODE_NOPRECEDE : 0, win);
    MPI_Put(&i, 1, MPI_LONG, next, 1, 1, MPI_LONG, win);
    MPI_Win_fence(i % 3 != 0 ? 0 : MPI_MODE_NOSUCCEED, win);
    CHECK(memory[1] == i);
    if (i % 3 != 0) MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOPRECEDE, win);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  MPI_Group world;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  last = (rank + size - 1) % size;
  data = malloc(kLong * sizeof *data);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &next, &to);
  MPI_Group_incl(world, 1, &last, &from);
  MPI_Win_allocate((2 * size + kLong) * (MPI_Aint)sizeof *memory, sizeof *memory,
                   MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  shared_locks_in_any_order();
  counters_by_requests();
  buffers_after_a_local_flush();
  layouts_around_a_ring();
  counters_under_lock_all();
  mistakes_under_a_lock();
  fences_with_all_assertions();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win); /* and nothing under it */
  MPI_Win_unlock(next, win);
  MPI_Win_free(&win);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Group_free(&world);
  free(data);
  return finish();
}
