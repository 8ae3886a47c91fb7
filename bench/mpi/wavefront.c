/* A wavefront: each rank works on its columns of a row when its left neighbour's number is there, then
 * sends its own to the right. The work of a row is the same for any number of ranks, so a perfect
 * pipeline takes as long with 64 ranks as with one rank per core. And a ring: each rank sends 8 bytes to
 * its right neighbour and receives 8 from its left one.
 *
 *   wavefront [--rows=2000] [--work=20000] [--rounds=7]
 */
#include <mpi.h>

#include "bench.h"

enum { MOST_ROUNDS = 101 };
static int rank, size;

static double compute(double number, long steps) {
  for (volatile int i = 0; i < steps; ++i) number += 1e-9;
  return number;
}

/* Milliseconds of one wave, on rank 0. */
static double wave(long rows, long work) {
  double number = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = bench_now_s();
  for (long row = 0; row < rows; ++row) {
    if (rank > 0)
      MPI_Recv(&number, 1, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    number = compute(number, work / size);
    if (rank < size - 1) MPI_Send(&number, 1, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD);
  }
  if (rank == size - 1 && rank > 0)
    MPI_Send(&number, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
  if (rank == 0 && size > 1)
    MPI_Recv(&number, 1, MPI_DOUBLE, size - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 1e3 * (bench_now_s() - begin);
}

/* Microseconds of one step of the ring. */
static double ring(long steps) {
  double out = rank, in = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = bench_now_s();
  for (long i = 0; i < steps; ++i)
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + 1) % size, 3, &in, 1, MPI_DOUBLE,
                 (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 1e6 * (bench_now_s() - begin) / (double)steps;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long rows = atol(bench_option(argc, argv, "rows", "2000"));
  long work = atol(bench_option(argc, argv, "work", "20000"));
  int rounds = atoi(bench_option(argc, argv, "rounds", "7"));
  long steps = 20000 / size + 10;
  if (rounds < 1 || rounds > MOST_ROUNDS) rounds = MOST_ROUNDS;
  double waves[MOST_ROUNDS], rings[MOST_ROUNDS];
  for (int i = 0; i < rounds; ++i) waves[i] = wave(rows, work);
  for (int i = 0; i < rounds; ++i) rings[i] = ring(steps);
  if (rank == 0) {
    bench_print("wavefront", size, bench_median(waves, rounds), "ms");
    bench_print("ring_8B", size, bench_median(rings, rounds), "us");
  }
  MPI_Finalize();
  return 0;
}
