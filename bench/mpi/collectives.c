/* Time of blocking collectives over MPI_COMM_WORLD, as the slowest rank sees it.
 *
 *   mpirun -n 16 ./collectives --which=barrier,allreduce,alltoall,bcast
 *
 * barrier; allreduce (sum of doubles) of 8 B, 64 KiB, 1 MiB; alltoall of 8 B, 4 KiB per pair; bcast
 * of 64 KiB, if it is named.
 */
#include <mpi.h>

#include "bench.h"

enum kind { BARRIER, ALLREDUCE, ALLTOALL, BCAST };

struct collective {
  enum kind kind;
  int ranks;
  long bytes;
  char *in, *out;
};

static long share(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

static void call(const struct collective* c) {
  int count = (int)c->bytes;
  switch (c->kind) {
    case BARRIER:
      MPI_Barrier(MPI_COMM_WORLD);
      break;
    case ALLREDUCE:
      MPI_Allreduce(c->in, c->out, count / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      break;
    case ALLTOALL:
      MPI_Alltoall(c->in, count, MPI_CHAR, c->out, count, MPI_CHAR, MPI_COMM_WORLD);
      break;
    case BCAST:
      MPI_Bcast(c->in, count, MPI_CHAR, 0, MPI_COMM_WORLD);
      break;
  }
}

static double batch(long iterations, void* context) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = bench_now_s();
  for (long i = 0; i < iterations; ++i) call(context);
  double mine = bench_now_s() - start, slowest = mine;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static void measure(struct collective c, const char* name, int rank) {
  long total = c.bytes * (c.kind == ALLTOALL ? c.ranks : 1);
  c.in = bench_buffer(total + 8);
  c.out = bench_buffer(total + 8);
  memset(c.in, 0, (size_t)total);
  double seconds = bench_run(batch, share, &c);
  if (rank == 0) bench_print(name, c.ranks, 1e6 * seconds, "us");
  free(c.in);
  free(c.out);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static const struct {
    const char *group, *name;
    enum kind kind;
    long bytes;
  } table[] = {
      {"barrier", "barrier", BARRIER, 0},
      {"allreduce", "allreduce_8B", ALLREDUCE, 8},
      {"allreduce", "allreduce_64KiB", ALLREDUCE, 65536},
      {"allreduce", "allreduce_1MiB", ALLREDUCE, 1 << 20},
      {"alltoall", "alltoall_8B", ALLTOALL, 8},
      {"alltoall", "alltoall_4KiB", ALLTOALL, 4096},
      {"bcast", "bcast_64KiB", BCAST, 65536},
  };
  const char* which = bench_option(argc, argv, "which", "barrier,allreduce,alltoall");
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    if (!bench_listed(which, table[i].group) && !bench_listed(which, table[i].name))
      continue;
    struct collective c = {table[i].kind, ranks, table[i].bytes, NULL, NULL};
    measure(c, table[i].name, rank);
  }
  MPI_Finalize();
  return 0;
}
