/* Arrays of megabytes, from malloc and static: how much do small pages cost?
 *
 *   mpirun -n 2 ./arrays --sizes=2M,8M,32M
 *
 * stencil: sweeps of a five-point stencil over two square grids of so many bytes each.
 * gather:  sums elements of one array in random order (each meets another page).
 * static:  the gather in an array without initial values (.bss) of 64 MiB.
 * No messages but the barriers around a batch.
 */
#include <mpi.h>
#include <stdint.h>

#include "bench.h"

enum { STATIC_BYTES = 64 << 20, GATHERED = 1 << 16 };

static double statics[STATIC_BYTES / sizeof(double)];
static volatile double sink;

struct grids {
  long side;
  double *from, *to;
};

static long share(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

static double sweep(long iterations, void* context) {
  struct grids* g = context;
  long n = g->side;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = bench_now_s();
  for (long i = 0; i < iterations; ++i) {
    for (long y = 1; y < n - 1; ++y)
      for (long x = 1; x < n - 1; ++x) {
        const double* at = g->from + y * n + x;
        g->to[y * n + x] = 0.2 * (at[0] + at[-1] + at[1] + at[-n] + at[n]);
      }
    double* swap = g->from;
    g->from = g->to;
    g->to = swap;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return bench_now_s() - start;
}

static double gather(long iterations, void* context) {
  struct grids* g = context;
  uint64_t mask = 1, random = 88172645463325252ull;
  double sum = 0;
  while (mask * 2 <= (uint64_t)g->side) mask *= 2;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = bench_now_s();
  for (long i = 0; i < iterations; ++i)
    for (long j = 0; j < GATHERED; ++j) {
      random = random * 6364136223846793005ull + 1442695040888963407ull;
      sum += g->from[random >> 33 & (mask - 1)];
    }
  sink = sum;
  MPI_Barrier(MPI_COMM_WORLD);
  return bench_now_s() - start;
}

static double* filled(double* array, long count) {
  for (long i = 0; i < count; ++i) array[i] = (double)i;
  return array;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  long sizes[16];
  int count = bench_sizes(bench_option(argc, argv, "sizes", "2M,8M,32M"), sizes, 16);
  for (int i = 0; i < count; ++i) {
    long elements = sizes[i] / (long)sizeof(double);
    struct grids g = {1, NULL, NULL};
    while ((g.side + 1) * (g.side + 1) <= elements) ++g.side;
    g.from = filled(malloc((size_t)sizes[i]), elements);
    g.to = filled(malloc((size_t)sizes[i]), elements);
    double seconds = bench_run(sweep, share, &g);
    if (rank == 0) bench_print("arrays_stencil", sizes[i], 1e6 * seconds, "us");
    g.side = elements;
    seconds = bench_run(gather, share, &g);
    if (rank == 0)
      bench_print("arrays_gather", sizes[i], 1e9 * seconds / GATHERED, "ns");
    free(g.from);
    free(g.to);
  }
  struct grids g = {STATIC_BYTES / (long)sizeof(double),
                    filled(statics, STATIC_BYTES / 8), NULL};
  double seconds = bench_run(gather, share, &g);
  if (rank == 0)
    bench_print("arrays_static", STATIC_BYTES, 1e9 * seconds / GATHERED, "ns");
  MPI_Finalize();
  return 0;
}
