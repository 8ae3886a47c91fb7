/* Many ranks: a ring, a broadcast and an allreduce with known results.
 *
 *   mpirun -n 1024 ./many
 *
 * Prints the wall time of the three, and wrong_results: how many ranks had one.
 */
#include <mpi.h>

#include "bench.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, left = -1, from_root, wrong, all_wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = bench_now_s();
  const long mine = (long)rank * rank;
  long sum = 0, expected = 0;
  for (long i = 0; i < ranks; ++i) expected += i * i;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % ranks, 1, &left, 1, MPI_INT,
               (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  from_root = rank == ranks - 1 ? 4711 : 0;
  MPI_Bcast(&from_root, 1, MPI_INT, ranks - 1, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  wrong = left != (rank + ranks - 1) % ranks || from_root != 4711 || sum != expected;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    bench_print("many", ranks, bench_now_s() - start, "s");
    bench_print("wrong_results", ranks, all_wrong, "ranks");
  }
  MPI_Finalize();
  return 0;
}
