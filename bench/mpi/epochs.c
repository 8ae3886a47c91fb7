/* One-sided epochs between two hosts while ranks compute: Kumar, SmartInterrupts, section 5.4.
 *
 *   mpirun -n 2 ./epochs --which=fence,pscw,lock,passive --ops=put,get --pattern=pairs --sizes=1M
 *
 * The ranks of the first half are origins, those of the second half targets: in pairs (i to i + n/2), or
 * rank 0 to many, all of the second half. Computing is work: what the network takes of the core makes it
 * longer. Figures are medians over the iterations, of the slowest origin; names end in
 * _KIND_OP_PATTERN:
 *
 *   epoch      T: from the call that opens the epoch until the one that closes it has returned, in us;
 *              nobody computes, the targets come at the same time
 *   hidden     the targets come 20 us later, the origin computes for W = 1.5 T before it closes the
 *              epoch: (W + T - time) / T in %; 100 is ideal (figures 5.8 to 5.11)
 *   left       how long the closing call takes then, in % of T; 0 is ideal
 *   calls      how long all calls of the epoch take together, in % of T: what the origin cannot compute. Where
 *              the host has a core for each rank only, `hidden` counts the network's work on it as well
 *
 *   lock       another origin, on the host of the target, has the lock for 50 us at the beginning
 *              (figure 5.13; four ranks or more)
 *   passive    the target computes for 3 T without calling MPI, 20 us before the origin begins, who does not
 *              compute: `served` is the time of the epoch, by T: 1 is ideal
 */
#include <mpi.h>

#include "bench.h"
#include "work.h"

enum { MOST_ITERATIONS = 10000 };
enum kind { FENCE, PSCW, LOCK, PASSIVE };
static const char* const kinds[] = {"fence", "pscw", "lock", "passive"};
static const double late_us = 20, held_us = 50;

static int rank, ranks, iterations = 100;

struct epochs {
  enum kind kind;
  int is_get, is_many;
  long bytes;
  char* memory; /* of the window */
  char* local;
  MPI_Win win;
  MPI_Group group; /* the other side's ranks, for PSCW */
};

static int first_target(void) { return ranks / 2; }
static int is_target(void) { return rank >= first_target(); }
static int is_origin(const struct epochs* e) {
  return e->is_many || e->kind >= LOCK ? rank == 0 : !is_target();
}
/* The targets of this origin: [*first, *end). */
static void targets(const struct epochs* e, int* first, int* end) {
  *first = e->is_many || e->kind >= LOCK ? first_target() : rank + first_target();
  *end = e->is_many ? ranks : *first + 1;
}

static void wait_us(double us) {
  for (double until = work_now_us() + us; work_now_us() < until;) continue;
}

/* ---- one iteration ---- */

static void move(const struct epochs* e, int target) {
  if (e->is_get)
    MPI_Get(e->local, (int)e->bytes, MPI_CHAR, target, 0, (int)e->bytes, MPI_CHAR,
            e->win);
  else
    MPI_Put(e->local, (int)e->bytes, MPI_CHAR, target, 0, (int)e->bytes, MPI_CHAR,
            e->win);
}

static void open_epoch(const struct epochs* e, int target) {
  if (e->kind == FENCE)
    MPI_Win_fence(MPI_MODE_NOPRECEDE, e->win);
  else if (e->kind == PSCW)
    MPI_Win_start(e->group, 0, e->win);
  else
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, e->win);
}

static void close_epoch(const struct epochs* e, int target) {
  if (e->kind == FENCE)
    MPI_Win_fence(MPI_MODE_NOSUCCEED, e->win);
  else if (e->kind == PSCW)
    MPI_Win_complete(e->win);
  else
    MPI_Win_unlock(target, e->win);
}

static void expose(const struct epochs* e) {
  if (e->kind == FENCE) {
    MPI_Win_fence(MPI_MODE_NOPRECEDE, e->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, e->win);
  } else if (e->kind == PSCW && is_target() && e->group != MPI_GROUP_NULL) {
    MPI_Win_post(e->group, 0, e->win);
    MPI_Win_wait(e->win);
  }
}

static void hold_lock(const struct epochs* e) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first_target(), 0, e->win);
  wait_us(held_us);
  MPI_Win_unlock(first_target(), e->win);
}

/* us of an epoch, of the call that closes it, of all its calls. */
struct times {
  double took, closing, calls;
};

static struct times once(const struct epochs* e, double work_us, int is_late) {
  int first, end;
  MPI_Barrier(MPI_COMM_WORLD);
  if (!is_origin(e)) {
    if (is_late && e->kind == PASSIVE && rank == first_target())
      work_take(work_steps(work_us));
    else if (is_late && e->kind == LOCK && rank == ranks - 1)
      hold_lock(e);
    else if (is_late && is_target() && e->kind < LOCK)
      wait_us(late_us);
    expose(e);
    return (struct times){0, 0, 0};
  }
  if (is_late && e->kind >= LOCK) wait_us(late_us);
  targets(e, &first, &end);
  double start = work_now_us();
  open_epoch(e, first);
  for (int t = first; t < end; ++t) move(e, t);
  double moved = work_now_us();
  if (e->kind != PASSIVE) work_take(work_steps(work_us));
  double computed = work_now_us();
  close_epoch(e, first);
  double now = work_now_us();
  return (struct times){now - start, now - computed, moved - start + now - computed};
}

/* Medians of the slowest origin, known to all. */
static struct times times(const struct epochs* e, double work_us, int is_late) {
  static double took[MOST_ITERATIONS], closing[MOST_ITERATIONS], calls[MOST_ITERATIONS];
  double mine[3] = {0, 0, 0}, slowest[3];
  for (int i = -iterations / 10 - 2; i < iterations; ++i) {
    struct times one = once(e, work_us, is_late);
    if (i >= 0) took[i] = one.took, closing[i] = one.closing, calls[i] = one.calls;
  }
  if (is_origin(e)) {
    mine[0] = bench_median(took, iterations);
    mine[1] = bench_median(closing, iterations);
    mine[2] = bench_median(calls, iterations);
  }
  MPI_Allreduce(mine, slowest, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return (struct times){slowest[0], slowest[1], slowest[2]};
}

/* ---- figures ---- */

static void print(const struct epochs* e, const char* what, double value,
                  const char* unit) {
  char name[64];
  snprintf(name, sizeof name, "%s_%s_%s_%s", what, kinds[e->kind],
           e->is_get ? "get" : "put", e->is_many ? "many" : "pairs");
  if (rank == 0) bench_print(name, e->bytes, value, unit);
}

static void measure(const struct epochs* e) {
  double alone = times(e, 0, 0).took;
  print(e, "epoch", alone, "us");
  if (e->kind == PASSIVE) {
    print(e, "served", times(e, 3 * alone, 1).took / alone, "T");
    return;
  }
  double work = 1.5 * alone;
  struct times both = times(e, work, 1);
  print(e, "hidden", 100 * (work + alone - both.took) / alone, "%");
  print(e, "left", 100 * both.closing / alone, "%");
  print(e, "calls", 100 * both.calls / alone, "%");
}

/* Whether all bytes have the value. */
static void check(const char* at, long bytes, char value) {
  for (long i = 0; i < bytes; ++i) {
    if (at[i] == value) continue;
    fprintf(stderr, "epochs: rank %d: byte %ld is %d, not %d\n", rank, i, at[i], value);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void run(struct epochs e) {
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  e.group = MPI_GROUP_NULL;
  int takes_part = 1;
  if (is_origin(&e)) {
    int first, end;
    targets(&e, &first, &end);
    MPI_Group_range_incl(world, 1, (int[1][3]){{first, end - 1, 1}}, &e.group);
  } else if (is_target()) {
    int origin = e.is_many ? 0 : rank - first_target();
    MPI_Group_incl(world, 1, &origin, &e.group);
  } else {
    takes_part = 0;
  }
  memset(e.memory, is_target() ? 1 : 0, (size_t)e.bytes);
  memset(e.local, 2, (size_t)e.bytes);
  MPI_Win_create(e.memory, e.bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &e.win);
  measure(&e);
  MPI_Win_free(&e.win);
  int is_used =
      is_origin(&e) || (is_target() && (e.kind < LOCK || rank == first_target()));
  if (is_used && e.is_get == is_origin(&e))
    check(is_origin(&e) ? e.local : e.memory, e.bytes, e.is_get ? 1 : 2);
  if (takes_part) MPI_Group_free(&e.group);
  MPI_Group_free(&world);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* which = bench_option(argc, argv, "which", "fence,pscw,passive");
  const char* ops = bench_option(argc, argv, "ops", "put,get");
  int is_many = bench_listed(bench_option(argc, argv, "pattern", "pairs"), "many");
  if (ranks % 2 != 0 || (bench_listed(which, "lock") && ranks < 4)) {
    fprintf(stderr, "epochs wants an even number of ranks, four for --which=lock\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  long sizes[16];
  int count = bench_sizes(bench_option(argc, argv, "sizes", "1M"), sizes, 16);
  iterations = atoi(bench_option(argc, argv, "iterations", "100"));
  if (iterations < 1 || iterations > MOST_ITERATIONS) iterations = 100;
  work_calibrate(rank);
  for (int i = 0; i < count; ++i) {
    char* memory = bench_buffer(sizes[i]);
    char* local = bench_buffer(sizes[i]);
    for (int kind = FENCE; kind <= PASSIVE; ++kind)
      for (int is_get = 0; is_get <= 1; ++is_get)
        if (bench_listed(which, kinds[kind]) &&
            bench_listed(ops, is_get ? "get" : "put"))
          run((struct epochs){(enum kind)kind, is_get, is_many, sizes[i], memory, local,
                              MPI_WIN_NULL, MPI_GROUP_NULL});
    free(memory);
    free(local);
  }
  MPI_Finalize();
  return 0;
}
