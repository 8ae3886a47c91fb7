/* Pi by numerical integration: MPI_Bcast, MPI_Reduce. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size, failed = 0;
  long intervals = argc > 1 ? atol(argv[1]) : 1000000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Bcast(&intervals, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  const double width = 1.0 / (double)intervals;
  double sum = 0, pi = 0;
  for (long i = rank; i < intervals; i += size) {
    const double x = width * ((double)i + 0.5);
    sum += 4.0 / (1.0 + x * x);
  }
  sum *= width;
  MPI_Reduce(&sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    failed = fabs(pi - 3.14159265358979) > 1e-9;
    printf("pi is about %.12f\n", pi);
  }
  MPI_Finalize();
  return failed;
}
