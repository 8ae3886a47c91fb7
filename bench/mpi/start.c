/* Start of non-blocking collectives: from the call of MPI_I... to its return, for a call that has
 * been made before (so that its schedule is cached).
 *
 *   mpirun -n 16 ./start [--sizes=8] [--calls=300]
 *
 * Prints start_CALL_BYTES and start_CALL_BYTES_max with the number of ranks: a rank's figure is the
 * median over its calls; the first one is the mean of the ranks, "max" the rank with the most to do.
 * The ranks leave a barrier before each call, so that no rank is late.
 */
#include <mpi.h>

#include "bench.h"

enum { kMaxCalls = 10000 };

struct call {
  const char* name;
  int (*start)(void* in, void* out, int count, MPI_Request* request);
};

static int bcast(void* in, void* out, int count, MPI_Request* r) {
  (void)out;
  return MPI_Ibcast(in, count, MPI_DOUBLE, 0, MPI_COMM_WORLD, r);
}
static int reduce(void* in, void* out, int count, MPI_Request* r) {
  return MPI_Ireduce(in, out, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, r);
}
static int allreduce(void* in, void* out, int count, MPI_Request* r) {
  return MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static int barrier(void* in, void* out, int count, MPI_Request* r) {
  (void)in, (void)out, (void)count;
  return MPI_Ibarrier(MPI_COMM_WORLD, r);
}

static void measure(const struct call* c, long bytes, int calls) {
  static double times[kMaxCalls];
  int rank, size, count = (int)(bytes / (long)sizeof(double));
  double *in = calloc((size_t)count + 1, sizeof *in),
         *out = calloc((size_t)count + 1, sizeof *out);
  double mine, sum, most;
  char name[64];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = -10; i < calls; ++i) {
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = bench_now_s();
    c->start(in, out, count, &request);
    if (i >= 0) times[i] = bench_now_s() - start;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  mine = bench_median(times, calls) * 1e6;
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    snprintf(name, sizeof name, "start_%s_%ldB", c->name, bytes);
    bench_print(name, size, sum / size, "us");
    snprintf(name, sizeof name, "start_%s_%ldB_max", c->name, bytes);
    bench_print(name, size, most, "us");
  }
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  static const struct call calls[] = {{"ibcast", bcast},
                                      {"ireduce", reduce},
                                      {"iallreduce", allreduce},
                                      {"ibarrier", barrier}};
  long sizes[16];
  MPI_Init(&argc, &argv);
  const int n = bench_sizes(bench_option(argc, argv, "sizes", "8"), sizes, 16);
  int repeats = atoi(bench_option(argc, argv, "calls", "300"));
  if (repeats < 1 || repeats > kMaxCalls) repeats = kMaxCalls;
  for (size_t c = 0; c < sizeof calls / sizeof *calls; ++c)
    for (int i = 0; i < n; ++i) measure(&calls[c], sizes[i], repeats);
  MPI_Finalize();
  return 0;
}
