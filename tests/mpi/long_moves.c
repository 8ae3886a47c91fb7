/* Puts and gets so long that a target which waits does a part: whatever the target does meanwhile, every byte comes once,
 * and nothing beside them. The lengths are of each way to copy. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { MOST = (5 << 20) + 4321, GUARD = 64 };

static int rank, size;

static unsigned char byte_of(long i, int seed) {
  return (unsigned char)((i * 2654435761u >> 7) + (unsigned)seed);
}

static void fill(unsigned char* data, long n, int seed) {
  for (long i = 0; i < n; ++i) data[i] = byte_of(i, seed);
}

static long differing(const unsigned char* data, long n, int seed) {
  long wrong = 0;
  for (long i = 0; i < n; ++i) wrong += data[i] != byte_of(i, seed);
  return wrong;
}

/* What a target does until the origin is through. */
static void pass_the_time(int how) {
  MPI_Request request;
  volatile double x = 0;
  switch (how) {
    case 0:
      break;
    case 1:
      for (int i = 0; i < 3000; ++i) x = x + i;
      break;
    case 2:
      MPI_Ibarrier(MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return;
    default:
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void join_them(int how) {
  MPI_Request request;
  if (how == 2) {
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (how > 2) {
    for (int to = 1; to < size; ++to)
      MPI_Send(NULL, 0, MPI_BYTE, to, 5, MPI_COMM_WORLD);
  }
}

static void put(MPI_Win win, unsigned char* own, unsigned char* memory, long n,
                long skew, int how) {
  const int seed = (int)(n % 97) + how;
  memset(memory, 0xee, MOST + 2 * GUARD);
  fill(own, n, seed);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int to = 1; to < size; ++to)
      MPI_Put(own, (int)n, MPI_BYTE, to, GUARD + skew, (int)n, MPI_BYTE, win);
    MPI_Win_flush_all(win);
    join_them(how);
  } else {
    pass_the_time(how);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  if (rank == 0) return;
  CHECK(differing(memory + GUARD + skew, n, seed) == 0);
  for (int i = 0; i < GUARD; ++i) {
    CHECK(memory[skew + i] == 0xee);
    CHECK(memory[GUARD + skew + n + i] == 0xee);
  }
}

static void get(MPI_Win win, unsigned char* own, unsigned char* memory, long n,
                long skew, int how) {
  const int seed = (int)(n % 89) + 3 * how;
  fill(memory + GUARD + skew, n, seed + rank);
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int from = 1; from < size; ++from) {
      memset(own, 0xdd, (size_t)n + GUARD);
      MPI_Get(own, (int)n, MPI_BYTE, from, GUARD + skew, (int)n, MPI_BYTE, win);
      MPI_Win_flush(from, win);
      CHECK(differing(own, n, seed + from) == 0);
      for (int i = 0; i < GUARD; ++i) CHECK(own[n + i] == 0xdd);
    }
    join_them(how);
  } else {
    pass_the_time(how);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* All put to the next one at once: each is helped by one and may help another. */
static void ring(MPI_Win win, unsigned char* own, unsigned char* memory, long n) {
  fill(own, n, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 5; ++i)
    MPI_Put(own, (int)n, MPI_BYTE, (rank + 1) % size, GUARD, (int)n, MPI_BYTE, win);
  MPI_Win_flush_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  CHECK(differing(memory + GUARD, n, (rank + size - 1) % size) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  static const long lengths[] = {1,       4096,     300001, 512 << 10, (1 << 20) + 77,
                                 2 << 20, MOST - 64};
  unsigned char *memory, *own = malloc(MOST + GUARD);
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(MOST + 2 * GUARD, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_lock_all(0, win);
  for (int how = 0; how < 4; ++how) {
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
      put(win, own, memory, lengths[i], (how * 17) % 64, how);
      get(win, own, memory, lengths[i], (how * 29) % 64, how);
    }
  }
  ring(win, own, memory, 3 << 20);
  /* In one's own memory. */
  fill(memory, 1 << 20, 5);
  MPI_Put(memory, 1 << 20, MPI_BYTE, rank, 2 << 20, 1 << 20, MPI_BYTE, win);
  MPI_Win_flush(rank, win);
  CHECK(differing(memory + (2 << 20), 1 << 20, 5) == 0);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  free(own);
  return finish();
}
