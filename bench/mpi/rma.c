/* One-sided communication: single operations in a lock that is held, and whole epochs.
 *
 *   mpirun -n 2 ./rma --which=put_8B,get_8B,put_1MiB,get_1MiB,fetch_add,put_flush,acc_8KiB,acc_1MiB,put_1MiB_fence
 *   mpirun -n 16 ./rma --which=fence,pscw,lock_put
 *
 * The first: rank 0 works on rank 1, which waits in a barrier; put and get are completed by one flush
 * for a batch, the others by one each. Epochs: each rank puts 8 bytes to the next one; the time is
 * that of all ranks, from the first one's start to the last one's end. put_1MiB_fence: only rank 0 puts, 1 MiB.
 */
#include <mpi.h>

#include "bench.h"

enum kind {
  PUT,
  GET,
  FETCH_ADD,
  ACCUMULATE,
  PUT_FLUSH,
  FENCE,
  PUT_FENCE,
  PSCW,
  LOCK_PUT
};

struct work {
  enum kind kind;
  int rank, ranks, count; /* of longs */
  long* own;
  MPI_Win win;
  MPI_Group next, previous;
};

static long share(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

static void single(const struct work* w, long iterations) {
  long one = 1, got = 0;
  for (long i = 0; i < iterations; ++i) {
    switch (w->kind) {
      case PUT:
        MPI_Put(w->own, w->count, MPI_LONG, 1, 0, w->count, MPI_LONG, w->win);
        break;
      case GET:
        MPI_Get(w->own, w->count, MPI_LONG, 1, 0, w->count, MPI_LONG, w->win);
        break;
      case FETCH_ADD:
        MPI_Fetch_and_op(&one, &got, MPI_LONG, 1, 0, MPI_SUM, w->win);
        MPI_Win_flush(1, w->win);
        break;
      case ACCUMULATE:
        MPI_Accumulate(w->own, w->count, MPI_LONG, 1, 0, w->count, MPI_LONG, MPI_SUM,
                       w->win);
        MPI_Win_flush(1, w->win);
        break;
      default:
        MPI_Put(w->own, w->count, MPI_LONG, 1, 0, w->count, MPI_LONG, w->win);
        MPI_Win_flush(1, w->win);
    }
  }
  MPI_Win_flush(1, w->win);
}

static void epoch(const struct work* w) {
  int next = (w->rank + 1) % w->ranks;
  switch (w->kind) {
    case FENCE:
      MPI_Put(w->own, 1, MPI_LONG, next, 0, 1, MPI_LONG, w->win);
      MPI_Win_fence(0, w->win);
      break;
    case PUT_FENCE:
      if (w->rank == 0)
        MPI_Put(w->own, w->count, MPI_LONG, 1, 0, w->count, MPI_LONG, w->win);
      MPI_Win_fence(0, w->win);
      break;
    case PSCW:
      MPI_Win_post(w->previous, 0, w->win);
      MPI_Win_start(w->next, 0, w->win);
      MPI_Put(w->own, 1, MPI_LONG, next, 0, 1, MPI_LONG, w->win);
      MPI_Win_complete(w->win);
      MPI_Win_wait(w->win);
      break;
    default:
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, w->win);
      MPI_Put(w->own, 1, MPI_LONG, next, 0, 1, MPI_LONG, w->win);
      MPI_Win_unlock(next, w->win);
  }
}

static double single_batch(long iterations, void* context) {
  const struct work* w = context;
  double took = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (w->rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w->win);
    MPI_Win_flush(1, w->win); /* now it is held */
    double start = bench_now_s();
    single(w, iterations);
    took = bench_now_s() - start;
    MPI_Win_unlock(1, w->win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return took;
}

static double epoch_batch(long iterations, void* context) {
  const struct work* w = context;
  const int is_fence = w->kind == FENCE || w->kind == PUT_FENCE;
  if (is_fence) MPI_Win_fence(0, w->win);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = bench_now_s();
  for (long i = 0; i < iterations; ++i) epoch(w);
  double span = bench_span(start);
  if (is_fence) MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
  return span;
}

static const struct {
  const char* name;
  enum kind kind;
  int count;
} table[] = {
    {"put_8B", PUT, 1},
    {"get_8B", GET, 1},
    {"put_1MiB", PUT, 1 << 17},
    {"get_1MiB", GET, 1 << 17},
    {"fetch_add", FETCH_ADD, 1},
    {"put_flush", PUT_FLUSH, 1},
    {"acc_8KiB", ACCUMULATE, 1024},
    {"acc_1MiB", ACCUMULATE, 1 << 17},
    {"put_1MiB_fence", PUT_FENCE, 1 << 17},
    {"fence", FENCE, 1},
    {"pscw", PSCW, 1},
    {"lock_put", LOCK_PUT, 1},
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* which = bench_option(argc, argv, "which", "put_8B,get_8B,fetch_add");
  struct work w;
  MPI_Group world;
  long* memory;
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  int next = (w.rank + 1) % w.ranks, previous = (w.rank + w.ranks - 1) % w.ranks;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &next, &w.next);
  MPI_Group_incl(world, 1, &previous, &w.previous);
  w.own = (long*)bench_buffer(1 << 20);
  MPI_Win_allocate(w.ranks == 2 ? 1 << 20 : 4096, sizeof(long), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &memory, &w.win);
  memset(memory, 0, w.ranks == 2 ? 1 << 20 : 4096);
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    if (!bench_listed(which, table[i].name)) continue;
    w.kind = table[i].kind;
    w.count = table[i].count;
    char name[32];
    snprintf(name, sizeof name, "rma_%s", table[i].name);
    bench_batch_for(w.ranks, w.kind != LOCK_PUT);
    double seconds = bench_run(w.kind < FENCE ? single_batch : epoch_batch, share, &w);
    if (w.rank == 0) bench_print(name, w.ranks, 1e6 * seconds, "us");
  }
  MPI_Win_free(&w.win);
  MPI_Group_free(&world);
  MPI_Group_free(&w.next);
  MPI_Group_free(&w.previous);
  free(w.own);
  MPI_Finalize();
  return 0;
}
