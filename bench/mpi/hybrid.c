/* Ranks with OpenMP threads: the cost of a parallel region, and a small hydrodynamics code.
 *
 *   OMP_NUM_THREADS=2 mpirun -n 2 ./hybrid [--which=regions,hydro]
 *
 * Threads T are those of OMP_NUM_THREADS. Rank 0 prints for R ranks
 *
 *   regions_Tt R   us per parallel loop of 1000 additions, hundreds of them one after the other,
 *                  then a barrier of all ranks
 *   hydro_Tt R     us per time step of a code like CloverLeaf: on a grid of 64 x 64 cells for each
 *                  rank pressure, speed and density are updated in six parallel loops, with a halo
 *                  exchange along a ring before and a reduction for the time step after
 *
 * Standard C11, MPI-3 and OpenMP only. Without a launcher it is one rank.
 */
#include <math.h>
#include <mpi.h>
#include <omp.h>

#include "bench.h"

enum { CELLS = 64, ROWS = CELLS + 2, LOOPS = 200 };

static int rank, ranks;

static long share(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

/* ---- parallel regions ---- */

static double regions(long iterations, void* context) {
  double* sum = context;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = bench_now_s();
  for (long i = 0; i < iterations; ++i) {
    double local = 0;
    for (int loop = 0; loop < LOOPS; ++loop)
#pragma omp parallel for reduction(+ : local)
      for (int j = 0; j < 1000; ++j) local += j;
    *sum += local;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return bench_now_s() - start;
}

/* ---- hydrodynamics ---- */

typedef double Field[ROWS][ROWS];

struct Grid {
  Field density, energy, pressure, speed_x, speed_y, flux;
};

static void exchange(Field field) {
  const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
  MPI_Sendrecv(field[CELLS], ROWS, MPI_DOUBLE, up, 1, field[0], ROWS, MPI_DOUBLE, down,
               1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(field[1], ROWS, MPI_DOUBLE, down, 2, field[CELLS + 1], ROWS, MPI_DOUBLE,
               up, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

#define EACH_CELL                                                              \
  _Pragma("omp parallel for") for (int y = 1; y <= CELLS; ++y) for (int x = 1; \
                                                                    x <= CELLS; ++x)

static double time_step(struct Grid* g) {
  double fastest = 1e-9;
#pragma omp parallel for reduction(max : fastest)
  for (int y = 1; y <= CELLS; ++y)
    for (int x = 1; x <= CELLS; ++x) {
      const double sound = sqrt(1.4 * g->pressure[y][x] / g->density[y][x]);
      if (sound > fastest) fastest = sound;
    }
  double all;
  MPI_Allreduce(&fastest, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return 0.1 / all;
}

static void step(struct Grid* g) {
  exchange(g->density);
  exchange(g->energy);
  EACH_CELL g->pressure[y][x] = 0.4 * g->density[y][x] * g->energy[y][x];
  exchange(g->pressure);
  const double dt = time_step(g);
  EACH_CELL g->speed_x[y][x] -= dt * (g->pressure[y][x + 1] - g->pressure[y][x - 1]);
  EACH_CELL g->speed_y[y][x] -= dt * (g->pressure[y + 1][x] - g->pressure[y - 1][x]);
  EACH_CELL g->flux[y][x] = g->speed_x[y][x + 1] - g->speed_x[y][x - 1] +
                            g->speed_y[y + 1][x] - g->speed_y[y - 1][x];
  EACH_CELL {
    g->energy[y][x] *= 1 - 1e-6 * dt * g->flux[y][x];
    g->density[y][x] *= 1 - 1e-6 * dt * g->flux[y][x];
  }
}

static double hydro(long iterations, void* context) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = bench_now_s();
  for (long i = 0; i < iterations; ++i) step(context);
  MPI_Barrier(MPI_COMM_WORLD);
  return bench_now_s() - start;
}

static struct Grid* make_grid(void) {
  struct Grid* g = (struct Grid*)bench_buffer((long)sizeof(struct Grid));
  for (int y = 0; y < ROWS; ++y)
    for (int x = 0; x < ROWS; ++x) {
      g->density[y][x] = 1 + (x < CELLS / 2);
      g->energy[y][x] = 2 + (y < CELLS / 2);
      g->pressure[y][x] = g->speed_x[y][x] = g->speed_y[y][x] = g->flux[y][x] = 0;
    }
  return g;
}

static void measure(const char* what, bench_batch* batch, void* context, double scale) {
  const double seconds = bench_run(batch, share, context) / scale;
  char name[64];
  snprintf(name, sizeof name, "%s_%dt", what, omp_get_max_threads());
  if (rank == 0) bench_print(name, ranks, 1e6 * seconds, "us");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* which = bench_option(argc, argv, "which", "regions,hydro");
  double sum = 0;
  if (strstr(which, "regions")) measure("regions", regions, &sum, LOOPS);
  if (strstr(which, "hydro")) {
    struct Grid* grid = make_grid();
    measure("hydro", hydro, grid, 1);
    free(grid);
  }
  MPI_Finalize();
  return sum < 0;
}
