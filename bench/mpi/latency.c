/* One-way time of a message between ranks 0 and 1: half of a ping-pong.
 *
 *   mpirun -n 2 ./latency --sizes=8,1k,1M [--buffers=separate|bounce]
 *
 * separate: each rank sends one buffer and receives into another, and writes neither (as the
 *           OSU benchmarks do), so that the buffers stay warm.
 * bounce:   each rank receives into the buffer that it sends from, so that each copy reads
 *           what the other core just wrote.
 */
#include <mpi.h>

#include "bench.h"

struct pingpong {
  int rank;
  long bytes;
  char *out, *in;
};

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
    } else {
      MPI_Recv(p->in, count, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(p->out, count, MPI_CHAR, other, 1, MPI_COMM_WORLD);
    }
  }
  return (bench_now_s() - start) / 2;
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
  int count = bench_sizes(bench_option(argc, argv, "sizes", "8,64,1k,8k,64k,1M,4M"), sizes, 32);
  int bounce = !strcmp(bench_option(argc, argv, "buffers", "separate"), "bounce");
  const char* name = bench_option(argc, argv, "name", bounce ? "latency_bounce" : "latency");
  for (int i = 0; i < count; ++i) {
    p.bytes = sizes[i];
    p.out = bench_buffer(p.bytes);
    p.in = bounce ? p.out : bench_buffer(p.bytes);
    double seconds = bench_run(batch, share, &p);
    if (p.rank == 0) bench_print(name, p.bytes, 1e6 * seconds, "us");
    if (!bounce) free(p.in);
    free(p.out);
  }
  MPI_Finalize();
  return 0;
}
