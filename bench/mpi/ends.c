/* A job that is ended from outside: all ranks wait in MPI_Recv for the last one, which never sends.
 *
 *   mpirun -n 8 ./ends --when=FILE
 *
 * Rank 0 prints "READY" when all are about to wait. As soon as FILE exists the last rank
 * crashes.
 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include "bench.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, word = 0;
  const char* when = bench_option(argc, argv, "when", "");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    printf("READY\n");
    fflush(stdout);
  }
  if (rank == ranks - 1) {
    while (access(when, F_OK) != 0) usleep(1000);
    raise(SIGSEGV);
  }
  MPI_Recv(&word, 1, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
