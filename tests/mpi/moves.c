/* Rank 0 sends to rank 1, which begins on the same core, and computes for a second without another call;
 * rank 2's core is idle. Prints whether rank 1 went on before rank 0 was through. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank;
  double times[2] = {0, 0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Send(times, 2, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    do {
      times[0] = MPI_Wtime();
    } while (times[0] - begin < 1.0);
    MPI_Recv(&times[1], 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf(times[1] < times[0] ? "moved\n" : "stayed\n");
  } else if (rank == 1) {
    MPI_Recv(times, 2, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    times[1] = MPI_Wtime();
    MPI_Send(&times[1], 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
