/* Communication hidden behind computation: the experiment of Denis et al. 2018 (section 6).
 *
 *   mpirun -n 2 ./overlap --ops=ibcast,ireduce --sizes=64k,2M
 *
 * Every rank starts a non-blocking collective, computes, and waits. For each operation and
 * size, rank 0 prints a line "OVERLAP key=value ..." with medians in microseconds:
 *
 *   blocking     the blocking collective alone
 *   comm         the non-blocking one, started and waited for at once
 *   compute      the computation alone (ranks that share a core compute one after the other)
 *   sequence     the blocking collective, then the computation
 *   total        start, compute, wait
 *   manual       the same with MPI_Test between --pieces pieces of the computation
 *   start        how long the starting call takes (the slowest rank)
 *   overlap      (blocking + compute - total) / min(blocking, compute_us): the time that was
 *                hidden, compared with the blocking call, by what could be hidden. compute_us
 *                is the computation of one rank: where ranks share a core, the last of them
 *                starts the collective only when the others have computed, so that only its
 *                own computation can hide anything.
 *   cpu_KIND     processor time of all processes per KIND and barrier, over a long batch
 *
 * --compute-us=C  each rank computes C us (the paper's C(N)); without it --window=1.2 times the
 *                 blocking collective.
 * --splits=0,auto each of these numbers of tree levels kept on the ranks' cores (our MPI)
 * --warm=1        repeats that do not count
 * --loop-us=C     instead the benchmark of Nomura et al.: pieces of C us until MPI_Test says
 *                 that the collective is complete; prints its time and the processor share that
 *                 it took from the computation.
 *
 * Standard C11 and MPI-3 only. All times are from the first rank's start to the last one's
 * end, by the node's monotonic clock: one node only. On an emulated machine
 * (mpcrun --emulate) MPI_Wtime and MPCX_Emulated_compute() stand for clock and computation.
 *
 * Long: the wrapper of each MPI compiles it by itself.
 */
#include <mpi.h>
#include <unistd.h>

#include "bench.h"

enum { MAX_REPEATS = 401, MAX_SIZES = 16 };

/* Null unless the MPI is ours. 1: the time has passed on an emulated core. */
extern int MPCX_Emulated_compute(double seconds) __attribute__((weak));

#define WORLD MPI_COMM_WORLD
static int rank, ranks;
static int is_emulated;

/* ---- clock and computation ---- */

static double now_s(void) { return is_emulated ? MPI_Wtime() : bench_now_s(); }

static double cpu_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static volatile double sink;
static double steps_per_us = 1;

static void take_steps(long steps) {
  double x = 1;
  for (long i = 0; i < steps; ++i) x = x * 1.0000001 + 1e-9;
  sink = x;
}

static void compute(double us) {
  if (us <= 0) return;
  if (is_emulated)
    MPCX_Emulated_compute(1e-6 * us);
  else
    take_steps((long)(us * steps_per_us));
}

/* How fast one undisturbed rank computes. */
static void calibrate(void) {
  enum { STEPS = 1000000, TRIES = 7 };
  double best = 1e9;
  is_emulated = MPCX_Emulated_compute && MPCX_Emulated_compute(0);
  if (rank == 0 && !is_emulated) {
    for (int i = 0; i < TRIES; ++i) {
      double start = bench_now_s();
      take_steps(STEPS);
      double took = bench_now_s() - start;
      if (took < best) best = took;
    }
    steps_per_us = STEPS / (1e6 * best);
  }
  MPI_Bcast(&steps_per_us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* ---- the collectives ---- */

static MPI_Comm
    tree_comm; /* where they run; a copy with a hint where --splits asks for it */

struct operation {
  const char* name;
  int root_factor_in, root_factor_out; /* the root has `ranks` times as much */
  void (*start)(char* in, char* out, int bytes, MPI_Request*);
  void (*block)(char* in, char* out, int bytes);
};

static void start_bcast(char* in, char* out, int n, MPI_Request* r) {
  (void)out;
  MPI_Ibcast(in, n, MPI_CHAR, 0, tree_comm, r);
}
static void block_bcast(char* in, char* out, int n) {
  (void)out;
  MPI_Bcast(in, n, MPI_CHAR, 0, tree_comm);
}
static void start_reduce(char* in, char* out, int n, MPI_Request* r) {
  MPI_Ireduce(in, out, n / 8, MPI_DOUBLE, MPI_SUM, 0, tree_comm, r);
}
static void block_reduce(char* in, char* out, int n) {
  MPI_Reduce(in, out, n / 8, MPI_DOUBLE, MPI_SUM, 0, tree_comm);
}
static void start_allreduce(char* in, char* out, int n, MPI_Request* r) {
  MPI_Iallreduce(in, out, n / 8, MPI_DOUBLE, MPI_SUM, tree_comm, r);
}
static void block_allreduce(char* in, char* out, int n) {
  MPI_Allreduce(in, out, n / 8, MPI_DOUBLE, MPI_SUM, tree_comm);
}
static void start_gather(char* in, char* out, int n, MPI_Request* r) {
  MPI_Igather(in, n, MPI_CHAR, out, n, MPI_CHAR, 0, tree_comm, r);
}
static void block_gather(char* in, char* out, int n) {
  MPI_Gather(in, n, MPI_CHAR, out, n, MPI_CHAR, 0, tree_comm);
}
static void start_scatter(char* in, char* out, int n, MPI_Request* r) {
  MPI_Iscatter(in, n, MPI_CHAR, out, n, MPI_CHAR, 0, tree_comm, r);
}
static void block_scatter(char* in, char* out, int n) {
  MPI_Scatter(in, n, MPI_CHAR, out, n, MPI_CHAR, 0, tree_comm);
}
static void start_alltoall(char* in, char* out, int n, MPI_Request* r) {
  MPI_Ialltoall(in, n / ranks, MPI_CHAR, out, n / ranks, MPI_CHAR, tree_comm, r);
}
static void block_alltoall(char* in, char* out, int n) {
  MPI_Alltoall(in, n / ranks, MPI_CHAR, out, n / ranks, MPI_CHAR, tree_comm);
}

static const struct operation operations[] = {
    {"ibcast", 0, 0, start_bcast, block_bcast},
    {"ireduce", 0, 0, start_reduce, block_reduce},
    {"iallreduce", 0, 0, start_allreduce, block_allreduce},
    {"igather", 0, 1, start_gather, block_gather},
    {"iscatter", 1, 0, start_scatter, block_scatter},
    {"ialltoall", 0, 0, start_alltoall, block_alltoall},
};

/* ---- one sample ---- */

enum kind { BLOCKING, COMM, COMPUTE, SEQUENCE, TOTAL, MANUAL, KINDS };
static const char* const kind_names[KINDS] = {"blocking", "comm",  "compute",
                                              "sequence", "total", "manual"};

struct setup {
  const struct operation* op;
  int bytes, pieces;
  double compute_us;
  char *in, *out;
};

static double start_it(const struct setup* s, MPI_Request* request) {
  double begin = now_s();
  s->op->start(s->in, s->out, s->bytes, request);
  return now_s() - begin;
}

/* Seconds that the starting call took. */
static double perform(const struct setup* s, enum kind kind) {
  MPI_Request request;
  double took = 0;
  int done = 0;
  if (kind == BLOCKING || kind == SEQUENCE) s->op->block(s->in, s->out, s->bytes);
  if (kind == COMM || kind == TOTAL || kind == MANUAL) took = start_it(s, &request);
  if (kind == COMPUTE || kind == SEQUENCE || kind == TOTAL) compute(s->compute_us);
  for (int i = 0; kind == MANUAL && i < s->pieces; ++i) {
    compute(s->compute_us / s->pieces);
    if (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
  if (kind == COMM || kind == TOTAL || (kind == MANUAL && !done))
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  return took;
}

struct sample { /* doubles only: it travels as an array */
  double begin, end, start;
};

struct figures {
  double us, start_us;
};

/* From the first begin to the last end. Rank 0 only. */
static struct figures combine(const struct sample* all) {
  struct figures f = {0, 0};
  double begin = all[0].begin, end = all[0].end;
  for (int i = 0; i < ranks; ++i) {
    if (all[i].begin < begin) begin = all[i].begin;
    if (all[i].end > end) end = all[i].end;
    if (1e6 * all[i].start > f.start_us) f.start_us = 1e6 * all[i].start;
  }
  f.us = 1e6 * (end - begin);
  return f;
}

static struct sample* gathered;

static struct figures gather(struct sample mine) {
  struct figures none = {0, 0};
  enum { DOUBLES = sizeof(struct sample) / sizeof(double) };
  MPI_Gather(&mine, DOUBLES, MPI_DOUBLE, gathered, DOUBLES, MPI_DOUBLE, 0, WORLD);
  return rank == 0 ? combine(gathered) : none;
}

static struct figures measure(const struct setup* s, enum kind kind) {
  struct sample mine;
  MPI_Barrier(WORLD);
  mine.begin = now_s();
  mine.start = perform(s, kind);
  mine.end = now_s();
  return gather(mine);
}

/* ---- processor time ---- */

/* The sum over all processes (ranks may share one), on rank 0. */
static double cpu_of_all(void) {
  double mine[2] = {(double)getpid(), cpu_s()}, total = 0;
  double* all = malloc(2 * sizeof(double) * (size_t)ranks);
  MPI_Gather(mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, WORLD);
  for (int i = 0; rank == 0 && i < ranks; ++i) {
    int first = 0;
    while (all[2 * first] != all[2 * i]) ++first;
    if (first == i) total += all[2 * i + 1];
  }
  free(all);
  return total;
}

/* us per repeat. A long batch, since the kernel books a running thread's time at its ticks only. */
static double cpu_us(const struct setup* s, enum kind kind, int repeats) {
  double before = cpu_of_all();
  for (int i = 0; i < repeats; ++i) {
    MPI_Barrier(WORLD);
    perform(s, kind);
  }
  return 1e6 * (cpu_of_all() - before) / repeats;
}

/* ---- one operation and size ---- */

static struct figures samples[KINDS][MAX_REPEATS];

static double median_of(enum kind kind, int count, size_t offset) {
  double values[MAX_REPEATS];
  for (int i = 0; i < count; ++i)
    memcpy(&values[i], (const char*)&samples[kind][i] + offset, sizeof(double));
  return bench_median(values, count);
}
#define MEDIAN(kind, count, field) \
  median_of(kind, count, offsetof(struct figures, field))

static double shared(double value) {
  MPI_Bcast(&value, 1, MPI_DOUBLE, 0, WORLD);
  return value;
}

/* Repeats of one kind; the median time. The same on every rank. */
static double quick_median(const struct setup* s, enum kind kind, int count) {
  for (int i = 0; i < count; ++i) samples[kind][i] = measure(s, kind);
  return shared(rank == 0 ? MEDIAN(kind, count, us) : 0);
}

struct plan {
  double compute_us, window, budget_s, cpu_s;
  int least, most, warm;
};

/* The next word of "0,1,auto"; "" at the end. */
static const char* next_word(const char** list, char* word, size_t size) {
  size_t length = strcspn(*list, ",");
  if (length >= size) length = size - 1;
  memcpy(word, *list, length);
  word[length] = 0;
  *list += strcspn(*list, ",");
  if (**list) ++*list;
  return word;
}

/* S as a hint to our MPI; others ignore it. */
static void use_split(const char* split) {
  if (tree_comm != MPI_COMM_NULL && tree_comm != WORLD) MPI_Comm_free(&tree_comm);
  tree_comm = WORLD;
  if (!*split) return;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpc_nbc_split", split);
  MPI_Comm_dup_with_info(WORLD, info, &tree_comm);
  MPI_Info_free(&info);
}

static void print(const struct setup* s, const char* split, const char* kinds,
                  int count) {
  double blocking = 0, computing = 0, total = 0;
  printf("OVERLAP op=%s bytes=%d ranks=%d repeats=%d compute_us=%.3f", s->op->name,
         s->bytes, ranks, count, s->compute_us);
  if (*split) printf(" split=%s", split);
  for (int kind = 0; kind < KINDS; ++kind) {
    if (!bench_listed(kinds, kind_names[kind])) continue;
    printf(" %s=%.3f", kind_names[kind], MEDIAN(kind, count, us));
  }
  if (bench_listed(kinds, "total")) {
    total = MEDIAN(TOTAL, count, us);
    printf(" start=%.3f", MEDIAN(TOTAL, count, start_us));
  }
  if (bench_listed(kinds, "blocking")) blocking = MEDIAN(BLOCKING, count, us);
  if (bench_listed(kinds, "compute")) computing = MEDIAN(COMPUTE, count, us);
  if (total > 0 && blocking > 0 && computing > 0) {
    double could = blocking < s->compute_us ? blocking : s->compute_us;
    printf(" overlap=%.4f", (blocking + computing - total) / could);
  }
}

static void print_cpu(const struct setup* s, const char* kinds, const struct plan* plan,
                      double once_us) {
  for (int kind = 0; plan->cpu_s > 0 && kind < KINDS; ++kind) {
    if (!bench_listed(kinds, kind_names[kind])) continue;
    int repeats = (int)(1e6 * plan->cpu_s / once_us) + 2;
    double us = cpu_us(s, kind, repeats);
    if (rank == 0) printf(" cpu_%s=%.3f", kind_names[kind], us);
  }
}

static void run(struct setup s, const struct plan* plan, const char* split,
                const char* kinds) {
  s.compute_us = plan->compute_us;
  if (s.compute_us < 0) {
    quick_median(&s, BLOCKING, 1);
    quick_median(&s, COMM, 2);
  }
  if (s.compute_us < 0) s.compute_us = plan->window * quick_median(&s, BLOCKING, 9);
  double once_s = 0;
  int longest = 0;
  for (int kind = 0; kind < KINDS; ++kind) {
    if (!bench_listed(kinds, kind_names[kind])) continue;
    once_s += 1e-6 * quick_median(&s, kind, plan->warm);
    longest = kind;
  }
  int count = (int)(plan->budget_s / (once_s > 0 ? once_s : 1e-6));
  if (count < plan->least) count = plan->least;
  if (count > plan->most) count = plan->most;
  for (int i = 0; i < count; ++i)
    for (int kind = 0; kind < KINDS; ++kind)
      if (bench_listed(kinds, kind_names[kind])) samples[kind][i] = measure(&s, kind);
  if (rank == 0) print(&s, split, kinds, count);
  print_cpu(&s, kinds, plan, shared(rank == 0 ? samples[longest][0].us : 0));
  if (rank == 0) printf("\n");
  fflush(stdout);
}

static void run_splits(struct setup s, const struct plan* plan, const char* splits,
                       const char* kinds) {
  char split[16];
  do {
    use_split(next_word(&splits, split, sizeof split));
    run(s, plan, split, kinds);
  } while (*splits);
  use_split("");
}

/* ---- the benchmark of Nomura et al. ---- */

static void run_loop(struct setup s, double piece_us, const struct plan* plan) {
  enum { MOST = 101 };
  double times[MOST], shares[MOST];
  int count = plan->most < MOST ? plan->most : MOST;
  for (int i = -2; i < count; ++i) { /* two to warm up */
    struct sample with, without;
    MPI_Request request;
    int done = 0, pieces = 0;
    MPI_Barrier(WORLD);
    with.begin = now_s();
    with.start = start_it(&s, &request);
    while (!done) {
      compute(piece_us);
      ++pieces;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    with.end = now_s();
    struct figures loop = gather(with);
    MPI_Barrier(WORLD);
    without.begin = now_s();
    without.start = 0;
    for (int k = 0; k < pieces; ++k) compute(piece_us);
    without.end = now_s();
    struct figures pure = gather(without);
    if (i < 0 || rank != 0) continue;
    times[i] = loop.us;
    shares[i] = loop.us > 0 ? (loop.us - pure.us) / loop.us : 0;
  }
  if (rank == 0)
    printf(
        "LOOP op=%s bytes=%d ranks=%d repeats=%d piece_us=%.3f time=%.3f share=%.4f\n",
        s.op->name, s.bytes, ranks, count, piece_us, bench_median(times, count),
        bench_median(shares, count));
}

/* Ends the program if a name of the list is no operation. */
static void check_operations(const char* ops) {
  while (*ops) {
    const size_t length = strcspn(ops, ",");
    size_t k = 0;
    const size_t count = sizeof operations / sizeof *operations;
    while (k < count && (strlen(operations[k].name) != length ||
                         strncmp(operations[k].name, ops, length) != 0))
      ++k;
    if (k == count) {
      fprintf(stderr, "'%.*s' is no operation\n", (int)length, ops);
      exit(2);
    }
    ops += length + (ops[length] == ',');
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &ranks);
  gathered = malloc((size_t)ranks * sizeof *gathered);
  tree_comm = WORLD;
  calibrate();
  const char* ops = bench_option(argc, argv, "ops", "ibcast,ireduce,iallreduce");
  check_operations(ops);
  const char* kinds =
      bench_option(argc, argv, "kinds", "blocking,comm,compute,sequence,total,manual");
  double loop_us = atof(bench_option(argc, argv, "loop-us", "0"));
  struct plan plan;
  plan.compute_us = atof(bench_option(argc, argv, "compute-us", "-1"));
  plan.window = atof(bench_option(argc, argv, "window", "1.2"));
  plan.budget_s = atof(bench_option(argc, argv, "seconds", "0.3"));
  plan.cpu_s = atof(bench_option(argc, argv, "cpu-seconds", "0.03"));
  plan.least = atoi(bench_option(argc, argv, "least", "5"));
  plan.warm = atoi(bench_option(argc, argv, "warm", "1"));
  plan.most = atoi(bench_option(argc, argv, "most", "101"));
  if (plan.most > MAX_REPEATS) plan.most = MAX_REPEATS;
  long sizes[MAX_SIZES];
  int size_count =
      bench_sizes(bench_option(argc, argv, "sizes", "64k,2M"), sizes, MAX_SIZES);
  for (int i = 0; i < size_count; ++i) {
    for (size_t k = 0; k < sizeof operations / sizeof *operations; ++k) {
      struct setup s = {&operations[k], (int)sizes[i], 20, 0, NULL, NULL};
      if (!bench_listed(ops, s.op->name)) continue;
      s.pieces = atoi(bench_option(argc, argv, "pieces", "20"));
      long all = sizes[i] * ranks;
      s.in = bench_buffer(rank == 0 && s.op->root_factor_in ? all : sizes[i]);
      s.out = bench_buffer(rank == 0 && s.op->root_factor_out ? all : sizes[i]);
      memset(s.in, 0, (size_t)sizes[i]);
      if (loop_us > 0)
        run_loop(s, loop_us, &plan);
      else
        run_splits(s, &plan, bench_option(argc, argv, "splits", ""), kinds);
      free(s.in);
      free(s.out);
    }
  }
  free(gathered);
  MPI_Finalize();
  return 0;
}
