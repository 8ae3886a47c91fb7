/* CHECK and the end of a test program. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int check_failures;

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      int check_rank;                                                             \
      MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);                                 \
      printf("rank %d: %s:%d: %s\n", check_rank, __FILE__, __LINE__, #condition); \
      ++check_failures;                                                           \
    }                                                                             \
  } while (0)

/* Blocking collectives without messages compare what all members call; members of several (virtual)
   processes send messages, and such a mistake may go unseen. */
static inline int calls_are_compared(void) {
  const char* processes = getenv("MPC_JOB_VIRTUAL_PROCESSES");
  return processes == NULL || atoi(processes) <= 1;
}

/* Collective; prints "No Errors" if there were none anywhere. */
static int finish(void) {
  int rank, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("No Errors\n");
  MPI_Finalize();
  return all != 0;
}

#endif
