/* Messages between two hosts while ranks compute: Kumar, SmartInterrupts, section 4.5.
 *
 *   mpirun -n 2 ./interrupts --which=overlap,progress,left,latency,alltoall,hidden --sizes=1M
 *
 * The ranks of the first half send, those of the second half receive (rank i to rank i + n/2), or all
 * call MPI_Ialltoall. The computing side comes first, the other side 20 us later, so that messages
 * that need an answer come during the computation. Computing is work, not a wait: time that the
 * network takes from the core makes it longer. A figure is the median of the iterations of the
 * slowest computing rank.
 *
 *   latency    T, without computing and without the 20 us (overhead), in us
 *   overlap_*  receiver, sender, both: the thesis' equation 4.2, (work - (time - T)) / T, for the most
 *              work of 0.1 T .. 1.1 T with which time is at most 1.1 T; in %, 0 if there is none
 *   progress_W the time after which all data are there, with work of W % of T, by T: 1 is ideal
 *   hidden     (work + T - time) / min(work, T) in %, for work of T, whatever is shared: any number of
 *              ranks on any number of cores; work is timed, too
 *   left_*_W   receiver, sender, both: how long MPI_Wait takes after work of W % of T, in % of T; 0 is
 *              ideal: then all that the message still costs is what it takes of the core
 *   alltoall_* overlap, progress_W of MPI_Ialltoall, of that many bytes for each pair
 */
#include <mpi.h>

#include "bench.h"
#include "work.h"

enum { RECEIVER = 1, SENDER = 2, BOTH = 3, ALL = 4, MOST_ITERATIONS = 10000 };

static int rank, ranks, iterations = 100;

struct exchange {
  int who;     /* computes */
  int is_late; /* the side that does not compute comes 20 us later */
  long bytes;
  char *out, *in;
  double data_us; /* when all data were there; of the last iteration */
  double wait_us; /* how long MPI_Wait took; likewise */
};

/* ---- computing ---- */

static int blocks(const struct exchange* e) { return e->who == ALL ? ranks : 1; }

/* The last byte of each block that comes is 1; before, 0. */
static int has_all(const struct exchange* e) {
  for (int i = 0; i < blocks(e); ++i)
    if (!*(volatile char*)(e->in + (i + 1) * e->bytes - 1)) return 0;
  return 1;
}

/* Computes, and checks for the data every 2 us, without MPI. */
static void compute(struct exchange* e, double us, double start, int looks) {
  long left = work_steps(us), piece = work_steps(2) + 1;
  while (left > 0) {
    work_take(left < piece ? left : piece);
    left -= piece;
    if (looks && !e->data_us && has_all(e)) e->data_us = work_now_us() - start;
  }
}

/* ---- one iteration ---- */

static int is_sender(void) { return rank < ranks / 2; }

static int computes(const struct exchange* e) {
  return e->who == ALL || (e->who & (is_sender() ? SENDER : RECEIVER)) != 0;
}

static void post(struct exchange* e, MPI_Request* request) {
  int other = is_sender() ? rank + ranks / 2 : rank - ranks / 2;
  if (e->who == ALL)
    MPI_Ialltoall(e->out, (int)e->bytes, MPI_CHAR, e->in, (int)e->bytes, MPI_CHAR,
                  MPI_COMM_WORLD, request);
  else if (is_sender())
    MPI_Isend(e->out, (int)e->bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, request);
  else
    MPI_Irecv(e->in, (int)e->bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, request);
}

/* us, from before the call that starts the message until after the wait for it. */
static double once(struct exchange* e, double work_us) {
  MPI_Request request;
  int receives = e->who == ALL || !is_sender();
  for (int i = 0; receives && i < blocks(e); ++i) e->in[(i + 1) * e->bytes - 1] = 0;
  e->data_us = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  /* Where both compute the receiver comes first, as in the thesis. */
  int is_later = e->is_late && (e->who == BOTH ? is_sender() : !computes(e));
  if (is_later)
    for (double until = work_now_us() + 20; work_now_us() < until;) continue;
  double start = work_now_us();
  post(e, &request);
  if (computes(e)) compute(e, work_us, start, receives);
  double computed = work_now_us();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  double took = work_now_us() - start;
  e->wait_us = work_now_us() - computed;
  if (!e->data_us) e->data_us = took;
  return took;
}

struct times {
  double took, came, waited; /* us: all, until the data were there, in MPI_Wait */
};

/* The medians of the iterations, each of the slowest rank that computes, known to all. */
static struct times all_times(struct exchange* e, double work_us) {
  static double took[MOST_ITERATIONS], came[MOST_ITERATIONS], waited[MOST_ITERATIONS];
  double mine[3] = {0, 0, 0}, slowest[3];
  for (int i = -iterations / 10 - 2; i < iterations; ++i) {
    double one = once(e, work_us);
    if (i >= 0) took[i] = one, came[i] = e->data_us, waited[i] = e->wait_us;
  }
  if (computes(e)) {
    mine[0] = bench_median(took, iterations);
    mine[1] = bench_median(came, iterations);
    mine[2] = bench_median(waited, iterations);
  }
  MPI_Allreduce(mine, slowest, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return (struct times){slowest[0], slowest[1], slowest[2]};
}

static double times(struct exchange* e, double work_us) {
  return all_times(e, work_us).took;
}

/* ---- figures ---- */

static void print(const char* what, const char* of, long parameter, double value,
                  const char* unit) {
  char name[64];
  snprintf(name, sizeof name, "%s%s", what, of);
  if (rank == 0) bench_print(name, parameter, value, unit);
}

static void overlap(struct exchange e, const char* what, const char* of) {
  double alone = times(&e, 0), best = 0;
  for (int tenths = 1; tenths <= 11; ++tenths) {
    double work = alone * tenths / 10, took = times(&e, work);
    if (took <= 1.1 * alone) best = 100 * (work - (took - alone)) / alone;
  }
  print(what, of, e.bytes, best < 0 ? 0 : best, "%");
}

static void progress(struct exchange e, const char* what) {
  double alone = times(&e, 0);
  for (int percent = 150; percent <= 300; percent += 75) {
    char of[16];
    snprintf(of, sizeof of, "_%d", percent);
    print(what, of, e.bytes, all_times(&e, alone * percent / 100).came / alone, "T");
  }
}

static void left(struct exchange e, const char* of) {
  double alone = times(&e, 0);
  for (int percent = 150; percent <= 300; percent += 150) {
    char what[32];
    snprintf(what, sizeof what, "left%s_%d", of, percent);
    double waited = all_times(&e, alone * percent / 100).waited;
    print(what, "", e.bytes, 100 * waited / alone, "%");
  }
}

static double compute_alone(double work_us) {
  static double took[MOST_ITERATIONS];
  struct exchange none = {BOTH, 0, 1, NULL, NULL, 0, 0};
  double slowest, mine;
  for (int i = 0; i < iterations; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = work_now_us();
    if (!is_sender()) compute(&none, work_us, start, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    took[i] = work_now_us() - start;
  }
  mine = is_sender() ? 0 : bench_median(took, iterations);
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/* With K ranks on each host: named by K, which the benchmark's driver varies. */
static void hidden(struct exchange e) {
  char what[32];
  double alone = times(&e, 0), work = alone / (ranks / 2.0);
  double computing = compute_alone(work), both = times(&e, work);
  double shorter = computing < alone ? computing : alone;
  snprintf(what, sizeof what, "hidden_%ld", e.bytes);
  print(what, "", ranks / 2, 100 * (computing + alone - both) / shorter, "%");
}

static void measure(const char* which, long bytes) {
  char* out = bench_buffer(bytes * ranks);
  char* in = bench_buffer(bytes * ranks);
  struct exchange e = {RECEIVER, 0, bytes, out, in, 0, 0},
                  all = {ALL, 0, bytes, out, in, 0, 0};
  if (bench_listed(which, "latency")) print("latency", "", bytes, times(&e, 0), "us");
  e.is_late = 1;
  if (bench_listed(which, "overlap")) {
    overlap(e, "overlap", "_receiver");
    e.who = SENDER, overlap(e, "overlap", "_sender");
    e.who = BOTH, overlap(e, "overlap", "_both");
  }
  e.who = RECEIVER;
  if (bench_listed(which, "progress")) progress(e, "progress");
  if (bench_listed(which, "left")) {
    left(e, "_receiver");
    e.who = SENDER, left(e, "_sender");
    e.who = BOTH, left(e, "_both");
    e.who = RECEIVER;
  }
  if (bench_listed(which, "hidden")) hidden(e);
  if (bench_listed(which, "alltoall")) {
    overlap(all, "alltoall_overlap", "");
    progress(all, "alltoall_progress");
  }
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks % 2 != 0) {
    fprintf(stderr, "interrupts wants an even number of ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  long sizes[16];
  const char* which = bench_option(argc, argv, "which", "latency,overlap,progress");
  int count = bench_sizes(bench_option(argc, argv, "sizes", "1M"), sizes, 16);
  iterations = atoi(bench_option(argc, argv, "iterations", "100"));
  if (iterations < 1 || iterations > MOST_ITERATIONS) iterations = 100;
  work_calibrate(rank);
  for (int i = 0; i < count; ++i) measure(which, sizes[i]);
  MPI_Finalize();
  return 0;
}
