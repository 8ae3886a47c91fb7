/* Windows whose members may live in several processes: long operations, many at once, a target that computes,
   and what only the target can find wrong. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int rank, size, next, previous;

/* The target calls nothing of MPI until it sees what the others have done. */
static void computing_target(void) {
  long* memory;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &memory, &win);
  memory[0] = memory[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    while (__atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) != size - 1) continue;
    CHECK(memory[1] == size - 1);
  } else {
    long got = -1, one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&got, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
    MPI_Win_flush(0, win);
    ++got;
    MPI_Put(&got, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
    MPI_Win_flush(0, win);
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Win_free(&win);
}

/* Every other double, over several packets; packets do not end where blocks do. */
static void long_vectors(void) {
  enum { kBlocks = 30011, kBlock = 3 };
  const size_t n = (size_t)kBlocks * kBlock, all = 2 * n;
  double *memory = malloc(all * sizeof *memory), *data = malloc(n * sizeof *data),
         *got = malloc(all * sizeof *got);
  MPI_Datatype every_other;
  MPI_Win win;
  MPI_Type_vector(kBlocks, kBlock, 2 * kBlock, MPI_DOUBLE, &every_other);
  MPI_Type_commit(&every_other);
  for (size_t i = 0; i < all; ++i) memory[i] = got[i] = -1;
  for (size_t i = 0; i < n; ++i) data[i] = rank * 1e6 + (double)i;
  MPI_Win_create(memory, (MPI_Aint)(all * sizeof *memory), sizeof(double),
                 MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  CHECK(MPI_Put(data, (int)n, MPI_DOUBLE, next, 0, 1, every_other, win) == MPI_SUCCESS);
  MPI_Win_fence(0, win);
  CHECK(MPI_Accumulate(data, (int)n, MPI_DOUBLE, next, 0, 1, every_other, MPI_SUM,
                       win) == MPI_SUCCESS);
  MPI_Win_fence(0, win);
  int wrong = 0;
  for (size_t i = 0; i < all; ++i) {
    const size_t at = i / (2 * kBlock) * kBlock + i % (2 * kBlock);
    const int is_gap = i % (2 * kBlock) >= kBlock;
    wrong += memory[i] != (is_gap ? -1 : 2 * (previous * 1e6 + (double)at));
  }
  CHECK(wrong == 0);
  CHECK(MPI_Get(got, 1, every_other, next, 0, 1, every_other, win) == MPI_SUCCESS);
  MPI_Win_fence(0, win);
  for (size_t i = 0; i < all; ++i) {
    const size_t at = i / (2 * kBlock) * kBlock + i % (2 * kBlock);
    const int is_gap = i % (2 * kBlock) >= kBlock;
    wrong += got[i] != (is_gap ? -1 : 2 * (rank * 1e6 + (double)at));
  }
  CHECK(wrong == 0);
  MPI_Win_free(&win);
  MPI_Type_free(&every_other);
  free(memory);
  free(data);
  free(got);
}

/* The type may be freed, and its memory be another type's, while others still know its number. */
static void many_types(void) {
  int memory[64] = {0}, data[16], got[16];
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &win);
  for (int turn = 1; turn <= 40; ++turn) {
    const int stride = 1 + turn % 4;
    MPI_Datatype type;
    MPI_Type_vector(16, 1, stride, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 16; ++i) data[i] = 100 * turn + i;
    memset(got, 0, sizeof got);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    MPI_Put(data, 16, MPI_INT, next, 0, 1, type, win);
    MPI_Win_flush(next, win);
    MPI_Get(got, 16, MPI_INT, next, 0, 1, type, win);
    MPI_Type_free(&type);
    MPI_Win_unlock(next, win);
    CHECK(memcmp(data, got, sizeof got) == 0);
  }
  MPI_Win_free(&win);
}

static void many_requests(void) {
  enum { kRequests = 50 };
  int memory[kRequests], got[kRequests];
  MPI_Request all[kRequests];
  MPI_Win win;
  for (int i = 0; i < kRequests; ++i) memory[i] = 1000 * rank + i;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &win);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < kRequests; ++i)
    MPI_Rget(&got[i], 1, MPI_INT, (rank + i) % size, i, 1, MPI_INT, win, &all[i]);
  int index = -1;
  MPI_Waitany(kRequests, all, &index, MPI_STATUS_IGNORE);
  CHECK(got[index] == 1000 * ((rank + index) % size) + index);
  MPI_Waitall(kRequests, all, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kRequests; ++i) CHECK(got[i] == 1000 * ((rank + i) % size) + i);
  /* A request that nobody waits for. */
  MPI_Rget(&got[0], 1, MPI_INT, next, 1, 1, MPI_INT, win, &all[0]);
  MPI_Request_free(&all[0]);
  MPI_Win_unlock_all(win);
  CHECK(got[0] == 1000 * next + 1);
  MPI_Win_free(&win);
}

/* Here at once; in another process when it is waited for. */
static void not_attached(void) {
  int memory[4] = {0}, value = 5, class = MPI_SUCCESS;
  MPI_Aint mine, theirs;
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_attach(win, memory, sizeof memory);
  MPI_Get_address(memory, &mine);
  MPI_Sendrecv(&mine, 1, MPI_AINT, previous, 0, &theirs, 1, MPI_AINT, next, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
  int code = MPI_Put(&value, 1, MPI_INT, next, MPI_Aint_add(theirs, sizeof memory), 1,
                     MPI_INT, win);
  if (code == MPI_SUCCESS) code = MPI_Win_flush(next, win);
  MPI_Error_class(code, &class);
  CHECK(class == MPI_ERR_RMA_RANGE);
  CHECK(MPI_Put(&value, 1, MPI_INT, next, MPI_Aint_add(theirs, 4), 1, MPI_INT, win) ==
        MPI_SUCCESS);
  CHECK(MPI_Win_unlock(next, win) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[0] == 0 && memory[1] == 5);
  MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
}

/* Accumulates on shared memory by all ranks, and loads of it. */
static void shared_counters(void) {
  long *mine, *first;
  MPI_Aint bytes;
  int unit;
  MPI_Comm host;
  MPI_Win win;
  long double one = 1;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Win_allocate_shared(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, host, &mine,
                          &win);
  memset(mine, 0, 8 * sizeof(long));
  MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 20; ++i) {
    MPI_Accumulate(&(long){1}, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Accumulate(&one, 1, MPI_LONG_DOUBLE, 0, 2, 1, MPI_LONG_DOUBLE, MPI_SUM, win);
    if (i % 2 == 0) __atomic_fetch_add(&first[1], 1, __ATOMIC_RELAXED);
  }
  MPI_Win_fence(0, win);
  int members;
  MPI_Comm_size(host, &members);
  long double sum;
  memcpy(&sum, &first[2], sizeof sum);
  CHECK(first[0] == 20L * members && first[1] == 10L * members &&
        sum == 20.0L * members);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_Comm_free(&host);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  computing_target();
  long_vectors();
  many_types();
  many_requests();
  not_attached();
  shared_counters();
  return finish();
}
