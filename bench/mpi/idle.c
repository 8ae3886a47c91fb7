/* Every rank waits in MPI_Recv until the last one, which sleeps, sends.
 *
 *   mpirun -n 16 ./idle --seconds=3
 *
 * Rank 0 prints "IDLE" when all are about to wait. CPU time and memory of the job are read
 * from outside, over the whole process tree, because ranks may share one process.
 */
#include <mpi.h>
#include <time.h>

#include "bench.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, word = 0;
  double seconds = atof(bench_option(argc, argv, "seconds", "3"));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    printf("IDLE\n");
    fflush(stdout);
  }
  if (rank == ranks - 1) {
    struct timespec pause = {(time_t)seconds,
                             (long)(1e9 * (seconds - (double)(long)seconds))};
    nanosleep(&pause, NULL);
    for (int to = 0; to < ranks - 1; ++to)
      MPI_Send(&word, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&word, 1, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
