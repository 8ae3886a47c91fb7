/* A rank that keeps a level of the tree and computes for long without a call: its progress
   thread is the last resort. Ranks 0, 2 and 3 share a core, which is idle while they wait for
   rank 1. Wants 4 ranks, a chain 0 - 1 - 2 - 3 and nbc.split=9 (all levels are kept).
   With an argument the root computes, too: then no core is free, and the setting progress.tick
   is wanted; only the counter nbc.rescues tells (nobody else can look at a clock). */
#include <stdlib.h>

#include "check.h"

enum { kCount = 100000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int* data = malloc(kCount * sizeof *data);
  const int is_busy = argc > 1;
  int early = 0;
  const int rounds = is_busy ? 2 : 5;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kCount; ++i) data[i] = rank == 0 ? i + round : -1;
    /* The root starts when rank 1 has. */
    if (rank == 0) MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request request;
    MPI_Ibcast(data, kCount, MPI_INT, 0, MPI_COMM_WORLD, &request);
    double computed_until = 0;
    if (rank == 1) MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 1 || (rank == 0 && is_busy)) {
      static volatile double x;
      const double start = MPI_Wtime();
      while ((computed_until = MPI_Wtime()) - start < 0.3) x = x * 0.5 + 1;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double done = MPI_Wtime();
    int wrong = 0;
    for (int i = 0; i < kCount; ++i) wrong += data[i] != i + round;
    CHECK(wrong == 0);
    MPI_Bcast(&computed_until, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    if (rank == 3 && done < computed_until) ++early;
  }
  /* Other programs of the machine may have had the core; not five times. */
  if (rank == 3 && !is_busy) CHECK(early > 0);
  free(data);
  return finish();
}
