/* Streaming from the first half of the ranks to the other half, with two ranks from 0 to 1: windows of
 * non-blocking sends, one answer per window.
 *
 *   mpirun -n 2 ./bandwidth --sizes=8,1k,1M [--both=8,64]
 *   mpirun -n 16 ./bandwidth --pairs=8,64
 *
 * Prints MB/s (10^6 bytes) and messages per second. Messages of a window have a buffer of
 * their own below 64 KiB and share one above, as applications' halo buffers do.
 * --both: sizes for both ranks sending a window to each other and receiving one at the same time; the
 * messages of both count (rate_both).
 * --pairs: sizes for all pairs at the same time; the messages of all pairs count (pairs_rate). For any even
 * number of ranks; the other two want 2.
 */
#include <mpi.h>

#include "bench.h"

enum { WINDOW = 64, SHARED_FROM_BYTES = 65536 };

struct stream {
  int rank, partner, sends;
  long bytes, stride;
  char* buffer;
  MPI_Request requests[WINDOW];
  MPI_Status statuses[WINDOW];
};

static long share(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

static double batch(long iterations, void* context) {
  struct stream* s = context;
  int count = (int)s->bytes;
  char answer = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = bench_now_s();
  for (long i = 0; i < iterations; ++i) {
    for (int w = 0; w < WINDOW; ++w) {
      char* at = s->buffer + w * s->stride;
      if (s->sends)
        MPI_Isend(at, count, MPI_CHAR, s->partner, 1, MPI_COMM_WORLD, &s->requests[w]);
      else
        MPI_Irecv(at, count, MPI_CHAR, s->partner, 1, MPI_COMM_WORLD, &s->requests[w]);
    }
    MPI_Waitall(WINDOW, s->requests, s->statuses);
    if (s->sends)
      MPI_Recv(&answer, 1, MPI_CHAR, s->partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(&answer, 1, MPI_CHAR, s->partner, 2, MPI_COMM_WORLD);
  }
  return bench_now_s() - start;
}

/* A batch of all pairs: as long as the slowest of them. */
static double batch_pairs(long iterations, void* context) {
  double mine = batch(iterations, context), slowest = mine;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static void measure_pairs(struct stream* s, long bytes, int ranks) {
  s->bytes = bytes;
  s->stride = bytes < SHARED_FROM_BYTES ? bytes : 0;
  s->buffer = bench_buffer(s->stride * WINDOW + bytes);
  double seconds = bench_run(batch_pairs, share, s) / WINDOW / (ranks / 2);
  char name[64];
  snprintf(name, sizeof name, "pairs_rate_%ldB", bytes);
  if (s->rank == 0) bench_print(name, ranks, 1e-6 / seconds, "M/s");
  free(s->buffer);
}

/* Both ranks send and receive, so that neither needs an answer. */
static double batch_both(long iterations, void* context) {
  struct stream* s = context;
  static MPI_Request requests[2 * WINDOW];
  static MPI_Status statuses[2 * WINDOW];
  int count = (int)s->bytes, other = s->partner;
  char* in = s->buffer + WINDOW * s->stride;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = bench_now_s();
  for (long i = 0; i < iterations; ++i) {
    for (int w = 0; w < WINDOW; ++w)
      MPI_Irecv(in + w * s->stride, count, MPI_CHAR, other, 1, MPI_COMM_WORLD,
                &requests[w]);
    for (int w = 0; w < WINDOW; ++w)
      MPI_Isend(s->buffer + w * s->stride, count, MPI_CHAR, other, 1, MPI_COMM_WORLD,
                &requests[WINDOW + w]);
    MPI_Waitall(2 * WINDOW, requests, statuses);
  }
  return bench_now_s() - start;
}

static void measure_both(struct stream* s, long bytes) {
  s->bytes = s->stride = bytes;
  s->buffer = bench_buffer(bytes * (2 * WINDOW));
  double seconds = bench_run(batch_both, share, s) / (2 * WINDOW);
  if (s->rank == 0) bench_print("rate_both", bytes, 1e-6 / seconds, "M/s");
  free(s->buffer);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static struct stream s;
  int ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* pairs = bench_option(argc, argv, "pairs", "");
  if (*pairs ? ranks % 2 : ranks != 2) {
    fprintf(stderr, "bandwidth wants 2 ranks, with --pairs any even number\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  s.sends = s.rank < ranks / 2;
  s.partner = (s.rank + ranks / 2) % ranks;
  long sizes[32];
  int count = bench_sizes(pairs, sizes, 32);
  for (int i = 0; i < count; ++i) measure_pairs(&s, sizes[i], ranks);
  count = bench_sizes(
      bench_option(argc, argv, "sizes", *pairs ? "" : "8,64,1k,8k,64k,1M,4M"), sizes,
      32);
  for (int i = 0; i < count; ++i) {
    s.bytes = sizes[i];
    s.stride = s.bytes < SHARED_FROM_BYTES ? s.bytes : 0;
    s.buffer = bench_buffer(s.stride * WINDOW + s.bytes);
    double seconds = bench_run(batch, share, &s) / WINDOW;
    if (s.rank == 0) {
      bench_print("bandwidth", s.bytes, (double)s.bytes / seconds / 1e6, "MB/s");
      bench_print("rate", s.bytes, 1e-6 / seconds, "M/s");
    }
    free(s.buffer);
  }
  count = bench_sizes(bench_option(argc, argv, "both", ""), sizes, 32);
  for (int i = 0; i < count; ++i) measure_both(&s, sizes[i]);
  MPI_Finalize();
  return 0;
}
