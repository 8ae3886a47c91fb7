/* Computing as work, not as a wait: what the network takes of the core makes it longer. */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include <mpi.h>

#include "bench.h"

static double work_steps_per_us = 1;
static volatile double work_sink;

static inline void work_take(long steps) {
  double x = 1;
  for (long i = 0; i < steps; ++i) x = x * 1.0000001 + 1e-9;
  work_sink = x;
}

static inline long work_steps(double us) { return (long)(us * work_steps_per_us); }

static inline double work_now_us(void) { return 1e6 * bench_now_s(); }

/* How fast rank 0 is when nothing else runs; the same number for all. Collective. */
static inline void work_calibrate(int rank) {
  enum { STEPS = 1000000 };
  double best = 1e9;
  for (int i = 0; rank == 0 && i < 7; ++i) {
    double start = work_now_us();
    work_take(STEPS);
    double took = work_now_us() - start;
    if (took < best) best = took;
  }
  work_steps_per_us = STEPS / best;
  MPI_Bcast(&work_steps_per_us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

#endif
