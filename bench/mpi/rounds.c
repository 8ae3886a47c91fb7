/* Rounds of equal work, each followed by an allreduce of 8 bytes. For several jobs at a time: the
 * figure is the time that the launchers take.
 *
 *   rounds [--rounds=200] [--work=500000]
 */
#include <mpi.h>

#include "bench.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  long rounds = atol(bench_option(argc, argv, "rounds", "200"));
  long work = atol(bench_option(argc, argv, "work", "500000"));
  double sum = 0;
  for (long i = 0; i < rounds; ++i) {
    volatile double part = 0;
    for (volatile long k = 0; k < work; ++k) part += 1;
    double mine = part;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return sum > 0 ? 0 : 1;
}
