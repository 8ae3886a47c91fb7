/* Epochs that queue operations, in ways that go wrong easily: types that are freed while their operation waits, locks of
   two windows, epochs with near and far targets of which some post late, more than may run ahead, threads that lock at
   the same time, errors of dynamic windows that come with the queue. Any number of ranks and processes. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kRoom = 4096, kRounds = 12, kThreads = 3, kBig = 1 << 20 };

static int rank, size, next, last;
static long *memory, *other_memory;
static MPI_Win win, other;

static void be_late(int turn) { usleep((useconds_t)((rank * 7 + turn * 3) % 5 * 400)); }

static void clear(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  memset(memory, 0, kRoom * sizeof *memory);
  memset(other_memory, 0, kRoom * sizeof *other_memory);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The types are freed before the operation can have been sent. */
static void types_freed_at_once(void) {
  long data[64], back[64];
  clear();
  for (int turn = 0; turn < kRounds; ++turn) {
    MPI_Datatype here, there;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    for (int i = 0; i < 64; ++i) data[i] = rank * 1000 + turn * 64 + i;
    memset(back, -1, sizeof back);
    MPI_Type_vector(8 + turn % 3, 2, 4, MPI_LONG, &here);
    MPI_Type_indexed(2, (int[]){8 + turn % 3, 8 + turn % 3}, (int[]){0, 100 + turn},
                     MPI_LONG, &there);
    MPI_Type_commit(&here);
    MPI_Type_commit(&there);
    MPI_Accumulate(data, 1, here, next, 0, 1, there, MPI_REPLACE, win);
    MPI_Accumulate(data, 1, here, next, 0, 1, there, MPI_SUM, win);
    MPI_Put(data, 1, here, next, 2000, 1, there, win);
    MPI_Get_accumulate(NULL, 0, MPI_LONG, back, 1, here, next, 0, 1, there, MPI_NO_OP,
                       win);
    MPI_Type_free(&here);
    MPI_Type_free(&there);
    MPI_Win_unlock(next, win);
    for (int i = 0; i < 4 * (8 + turn % 3) - 2; ++i)
      CHECK(back[i] == (i % 4 < 2 ? 2 * data[i] : -1));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 8 + turn % 3; ++i) {
      const long first = last * 1000 + turn * 64;
      CHECK(memory[2000 + i] == first + i / 2 * 4 + i % 2);
      const int second = i + 8 + turn % 3;
      CHECK(memory[2100 + turn + i] == first + second / 2 * 4 + second % 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Each adds to the counters of two windows under both locks; the order is the same everywhere. */
static void locks_of_two_windows(void) {
  clear();
  for (int turn = 0; turn < kRounds; ++turn) {
    long a = -1, b = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, other);
    MPI_Get(&b, 1, MPI_LONG, 0, 0, 1, MPI_LONG, other);
    MPI_Get(&a, 1, MPI_LONG, size - 1, 0, 1, MPI_LONG, win);
    if (turn % 2 == 0) {
      MPI_Win_flush(0, other);
      MPI_Win_flush_local(size - 1, win);
    } else {
      MPI_Win_flush_all(win);
      MPI_Win_flush_local_all(other);
    }
    CHECK(a >= 0 && a == b);
    ++a, ++b;
    MPI_Put(&a, 1, MPI_LONG, size - 1, 0, 1, MPI_LONG, win);
    MPI_Put(&b, 1, MPI_LONG, 0, 0, 1, MPI_LONG, other);
    MPI_Win_unlock(turn % 3 == 0 ? size - 1 : 0, turn % 3 == 0 ? win : other);
    MPI_Win_unlock(turn % 3 == 0 ? 0 : size - 1, turn % 3 == 0 ? other : win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) CHECK(memory[0] == (long)kRounds * size);
  if (rank == 0) CHECK(other_memory[0] == (long)kRounds * size);
}

/* All are origins of all, themselves too; each posts late in its way. Short data, then a get, then long ones. */
static void all_to_all_epochs(MPI_Group world) {
  long* data = malloc(kRoom * sizeof *data);
  clear();
  for (int turn = 0; turn < kRounds; ++turn) {
    const int n = turn % 3 == 2 ? 2000 / size : 4;
    long got[2] = {-1, -1};
    for (int i = 0; i < n; ++i) data[i] = turn * 100000L + rank * 1000L + i % 1000;
    be_late(turn);
    MPI_Win_post(world, 0, win);
    MPI_Win_start(world, 0, win);
    for (int i = 0; i < size; ++i) {
      const int to = (rank + i) % size;
      MPI_Put(data, n, MPI_LONG, to, 100 + rank * n, n, MPI_LONG, win);
      MPI_Accumulate(&(const long){1}, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win);
    }
    if (turn % 3 == 1) MPI_Get(got, 2, MPI_LONG, next, 1, 2, MPI_LONG, win);
    MPI_Win_complete(win);
    memset(data, -1, (size_t)n * sizeof *data);
    if (turn % 3 == 1) CHECK(got[0] == 0 && got[1] == 0);
    MPI_Win_wait(win);
    CHECK(memory[0] == (long)(turn + 1) * size);
    for (int from = 0; from < size; ++from)
      for (int i = 0; i < n; ++i)
        CHECK(memory[100 + from * n + i] == turn * 100000L + from * 1000L + i % 1000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(data);
}

/* More entries, and more bytes, than may run ahead of posts; posts come in between. The ring has its origins one step
   behind, so nobody waits for ever. */
static void far_ahead(MPI_Group to, MPI_Group from) {
  clear();
  if (size == 1) return;
  for (int turn = 0; turn < 4; ++turn) {
    const int puts = turn % 2 == 0 ? 700 : 40, n = turn % 2 == 0 ? 1 : 400;
    long data[400];
    for (int i = 0; i < 400; ++i) data[i] = turn * 1000 + i;
    if (rank % 2 == 0) {
      be_late(turn);
      MPI_Win_post(from, 0, win);
    }
    MPI_Win_start(to, 0, win);
    for (int i = 0; i < puts; ++i)
      MPI_Put(data, n, MPI_LONG, next, i * n % 4000, n, MPI_LONG, win);
    if (rank % 2 == 1) {
      be_late(turn);
      MPI_Win_post(from, 0, win);
    }
    MPI_Win_complete(win);
    memset(data, -1, sizeof data);
    MPI_Win_wait(win);
    for (int i = 0; i < 700; ++i) CHECK(memory[i] == turn * 1000 + i % n);
  }
}

/* Ten epochs without anything but complete, and the window's memory is looked at by the target only. */
static void empty_epochs(MPI_Group to, MPI_Group from) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (size == 1) return;
  if (rank == 0)
    for (int i = 0; i < 10; ++i) {
      MPI_Win_start(to, 0, win);
      MPI_Win_complete(win);
    }
  if (rank == 1)
    for (int i = 0; i < 10; ++i) {
      be_late(i);
      MPI_Win_post(from, 0, win);
      MPI_Win_wait(win);
    }
}

/* Fences that do not wait, with members that come late, and operations on near, far and own memory. */
static void late_fences(void) {
  clear();
  for (int turn = 0; turn < kRounds; ++turn) {
    long mine[32], got[32];
    int bad = 0;
    for (int i = 0; i < size && i < 32; ++i) mine[i] = turn * 100 + rank, got[i] = -1;
    be_late(turn);
    memory[size + rank] = turn; /* nobody reads it before this fence */
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    for (int i = 0; i < size && i < 32; ++i) {
      MPI_Put(&mine[i], 1, MPI_LONG, i, rank, 1, MPI_LONG, win);
      MPI_Get(&got[i], 1, MPI_LONG, i, size + i, 1, MPI_LONG, win);
    }
    be_late(turn + 1);
    MPI_Win_fence(turn % 2 ? MPI_MODE_NOSUCCEED : 0, win);
    for (int i = 0; i < size && i < 32; ++i)
      bad += got[i] != turn || memory[i] != turn * 100 + i;
    CHECK(bad == 0 || size > 32);
    if (turn % 2 == 0) MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  /* Another epoch at once behind one that nobody has used. */
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  MPI_Win_lock_all(0, win);
  MPI_Accumulate(&(const long){1}, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_REPLACE, win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[0] == 1);
}

static void big_ones(void) {
  long *big, *data = malloc(kBig * sizeof *data);
  MPI_Win wide;
  MPI_Request request[2];
  MPI_Win_allocate(kBig * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &big, &wide);
  for (int turn = 0; turn < 3; ++turn) {
    int is_over = 0;
    for (int i = 0; i < kBig; ++i) data[i] = i + turn;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, wide);
    if (turn == 0) {
      MPI_Put(data, kBig, MPI_LONG, next, 0, kBig, MPI_LONG, wide);
    } else if (turn == 1) {
      MPI_Rput(data, kBig / 2, MPI_LONG, next, 0, kBig / 2, MPI_LONG, wide,
               &request[0]);
      MPI_Raccumulate(data + kBig / 2, kBig / 2, MPI_LONG, next, kBig / 2, kBig / 2,
                      MPI_LONG, MPI_REPLACE, wide, &request[1]);
      while (!is_over) MPI_Testall(2, request, &is_over, MPI_STATUSES_IGNORE);
      memset(data, -1, kBig * sizeof *data);
    } else {
      MPI_Accumulate(data, kBig, MPI_LONG, next, 0, kBig, MPI_LONG, MPI_REPLACE, wide);
      MPI_Win_flush_local(next, wide);
      memset(data, -1, kBig * sizeof *data);
    }
    MPI_Win_unlock(next, wide);
    MPI_Barrier(MPI_COMM_WORLD);
    int bad = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, wide);
    for (int i = 0; i < kBig; ++i) bad += big[i] != i + turn;
    MPI_Win_unlock(rank, wide);
    CHECK(bad == 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_free(&wide);
  free(data);
}

/* The target finds the error when the queue is sent; the call that waits for it brings it. */
static void errors_of_dynamic_windows(void) {
  long mine = 0;
  MPI_Win dynamic;
  MPI_Aint at, wrong, theirs;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
  MPI_Win_attach(dynamic, &mine, sizeof mine);
  MPI_Get_address(&mine, &at);
  MPI_Sendrecv(&at, 1, MPI_AINT, last, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  wrong = MPI_Aint_add(theirs, 1 << 20);
  for (int turn = 0; turn < kRounds; ++turn) {
    const long value = turn;
    int first, second, class = MPI_SUCCESS;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, dynamic);
    first = MPI_Put(&value, 1, MPI_LONG, next, wrong, 1, MPI_LONG, dynamic);
    MPI_Put(&value, 1, MPI_LONG, next, theirs, 1, MPI_LONG, dynamic);
    second = MPI_Win_unlock(next, dynamic);
    MPI_Error_class(first != MPI_SUCCESS ? first : second, &class);
    CHECK(class == MPI_ERR_RMA_RANGE);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(mine == turn);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_detach(dynamic, &mine);
  MPI_Win_free(&dynamic);
}

/* Each thread has its own window, and all want the same targets. */
static MPI_Win of_thread[kThreads];

static void* count_up(void* argument) {
  MPI_Win mine = of_thread[*(int*)argument];
  for (int turn = 0; turn < kRounds; ++turn) {
    for (int target = 0; target<size; target += size> 1 ? size - 1 : 1) {
      long value = -1;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, mine);
      MPI_Get(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, mine);
      MPI_Win_flush(target, mine);
      ++value;
      MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, mine);
      MPI_Win_unlock(target, mine);
    }
  }
  return NULL;
}

static void threads_that_lock(void) {
  pthread_t thread[kThreads];
  int number[kThreads];
  long* counter[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &counter[i], &of_thread[i]);
    *counter[i] = 0;
    number[i] = i;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kThreads; ++i)
    pthread_create(&thread[i], NULL, count_up, &number[i]);
  for (int i = 0; i < kThreads; ++i) pthread_join(thread[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kThreads; ++i) {
    if (rank == 0 || rank == size - 1) CHECK(*counter[i] == (long)kRounds * size);
    MPI_Win_free(&of_thread[i]);
  }
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Group world, to, from;
  MPI_Comm comm;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  last = (rank + size - 1) % size;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &next, &to);
  MPI_Group_incl(world, 1, &last, &from);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Win_allocate(kRoom * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &memory,
                   &win);
  MPI_Win_allocate(kRoom * sizeof(long), sizeof(long), MPI_INFO_NULL, comm,
                   &other_memory, &other);
  MPI_Comm_free(&comm); /* the windows have their own */
  types_freed_at_once();
  locks_of_two_windows();
  all_to_all_epochs(world);
  far_ahead(to, from);
  late_fences();
  big_ones();
  errors_of_dynamic_windows();
  if (level == MPI_THREAD_MULTIPLE) threads_that_lock();
  empty_epochs(to, from);
  MPI_Win_free(&win);
  MPI_Win_free(&other);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Group_free(&world);
  return finish();
}
