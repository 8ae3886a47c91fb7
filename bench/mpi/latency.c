/* One-way time of a message between ranks 0 and 1: half of a ping-pong.
 *
 *   mpirun -n 2 ./latency --sizes=8,1k,1M [--buffers=separate|bounce|used|malloc]
 *
 * separate: each rank sends one buffer and receives into another, and writes neither (as the
 *           OSU benchmarks do), so that the buffers stay warm.
 * bounce:   each rank receives into the buffer that it sends from, so that each copy reads
 *           what the other core just wrote.
 * used:     separate, and the receiver reads all of the data before it answers; that time counts.
 * malloc:   separate, as malloc() gives them: small ones may have neighbours in their cache lines.
 */
#include <mpi.h>

#include "bench.h"

struct pingpong {
  int rank;
  long bytes;
  char *out, *in;
  int reads;
};

static volatile long sink;

static void read_all(const struct pingpong* p) {
  const long* at = (const long*)p->in;
  long sum = 0;
  for (long i = 0; i < p->bytes / (long)sizeof(long); ++i) sum += at[i];
  sink = sum;
}

static long share(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

static double batch(long iterations, void* context) {
  const struct pingpong* p = context;
  int other = 1 - p->rank, count = (int)p->bytes;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = bench_now_s();
  for (long i = 0; i < iterations; ++i) {
    if (p->rank == 0) {
      MPI_Send(p->out, count, MPI_CHAR, other, 1, MPI_COMM_WORLD);
      MPI_Recv(p->in, count, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (p->reads) read_all(p);
    } else {
      MPI_Recv(p->in, count, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (p->reads) read_all(p);
      MPI_Send(p->out, count, MPI_CHAR, other, 1, MPI_COMM_WORLD);
    }
  }
  return (bench_now_s() - start) / 2;
}

static char* small_block(long bytes) {
  char* block = malloc((size_t)bytes + 1);
  memset(block, 1, (size_t)bytes + 1);
  return block;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct pingpong p;
  int ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    fprintf(stderr, "latency wants 2 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  long sizes[32];
  int count =
      bench_sizes(bench_option(argc, argv, "sizes", "8,64,1k,8k,64k,1M,4M"), sizes, 32);
  const char* buffers = bench_option(argc, argv, "buffers", "separate");
  int bounce = !strcmp(buffers, "bounce");
  p.reads = !strcmp(buffers, "used");
  char* (*make)(long) = !strcmp(buffers, "malloc") ? small_block : bench_buffer;
  char fallback[64];
  snprintf(fallback, sizeof fallback,
           strcmp(buffers, "separate") ? "latency_%s" : "latency", buffers);
  const char* name = bench_option(argc, argv, "name", fallback);
  for (int i = 0; i < count; ++i) {
    p.bytes = sizes[i];
    p.out = make(p.bytes);
    p.in = bounce ? p.out : make(p.bytes);
    double seconds = bench_run(batch, share, &p);
    if (p.rank == 0) bench_print(name, p.bytes, 1e6 * seconds, "us");
    if (!bounce) free(p.in);
    free(p.out);
  }
  MPI_Finalize();
  return 0;
}
