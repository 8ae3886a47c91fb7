/* The limits of the machine for a meeting of many cores: pinned threads with bare flags, without any MPI.
 *
 *   ./meeting --cores=2,4,8,16 [--radix=2,3,4,8]
 *
 * The time of one barrier, and of one sum of 8 bytes over all threads, in us, for each way and number of
 * threads:
 *
 *   meet_flat, sum_flat        each thread writes its line, then waits for one line of the others after the other
 *   meet_pass, sum_pass        the same, but a thread looks at all lines before it looks at any again
 *   meet_ahead, sum_ahead      as flat, but it gets its next line for writing while it waits
 *   meet_rR, sum_rR            in stages: threads meet in groups of R, then groups of groups; in each stage
 *                              a thread reads one line of each other group (n-way dissemination, Hoefler et al. 2006)
 *   meet_central               one counter and one flag for all
 *
 * What `bench percore` shows beside the barrier and the reduction of each MPI: no barrier can be faster than
 * the best of these.
 */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "bench.h"
#include "pinned.h"

enum { MOST = 128, STAGES = 8, ROUNDS = 20000, REPEATS = 5 };

struct line {
  _Alignas(128) atomic_long round;
  double value;
};
static struct line lines[STAGES][2][MOST];
static _Alignas(128) atomic_long arrived;
static _Alignas(128) atomic_long released;
static int threads, radix, sums;
static pthread_barrier_t begin;
static double seconds[MOST];
static int partner[MOST][STAGES][MOST], partners[MOST][STAGES], stages;

static inline void wait_for(atomic_long* flag, long value) {
  while (atomic_load_explicit(flag, memory_order_acquire) < value)
    __builtin_ia32_pause();
}

static double flat(int me, long round, double value) {
  struct line* all = lines[0][round & 1];
  all[me].value = value;
  atomic_store_explicit(&all[me].round, round, memory_order_seq_cst);
  double sum = 0;
  for (int i = 0; i < threads; ++i) {
    wait_for(&all[i].round, round);
    if (sums) sum += all[i].value;
  }
  return sum;
}

/* Gets the line of the next round for writing while it waits for the others. */
static double ahead(int me, long round, double value) {
  struct line* all = lines[0][round & 1];
  all[me].value = value;
  atomic_store_explicit(&all[me].round, round, memory_order_seq_cst);
  __builtin_prefetch(&lines[0][(round + 1) & 1][me], 1);
  double sum = 0;
  for (int i = 0; i < threads; ++i) {
    wait_for(&all[i].round, round);
    if (sums) sum += all[i].value;
  }
  return sum;
}

static double pass(int me, long round, double value) {
  struct line* all = lines[0][round & 1];
  all[me].value = value;
  atomic_store_explicit(&all[me].round, round, memory_order_seq_cst);
  for (;;) {
    int there = 0;
    for (int i = 0; i < threads; ++i)
      there += atomic_load_explicit(&all[i].round, memory_order_acquire) >= round;
    if (there == threads) break;
    __builtin_ia32_pause();
  }
  double sum = 0;
  if (sums)
    for (int i = 0; i < threads; ++i) sum += all[i].value;
  return sum;
}

static double staged(int me, long round, double value) {
  for (int s = 0; s < stages; ++s) {
    struct line* all = lines[s][round & 1];
    all[me].value = value;
    atomic_store_explicit(&all[me].round, round, memory_order_seq_cst);
    int count = partners[me][s];
    const int* from = partner[me][s];
    for (;;) {
      int there = 0;
      for (int i = 0; i < count; ++i)
        there +=
            atomic_load_explicit(&all[from[i]].round, memory_order_acquire) >= round;
      if (there == count) break;
      __builtin_ia32_pause();
    }
    if (sums) {
      value = 0;
      for (int i = 0; i < count; ++i) value += all[from[i]].value;
    }
  }
  return value;
}

static double central(int me, long round, double value) {
  (void)me;
  if (atomic_fetch_add_explicit(&arrived, 1, memory_order_acq_rel) + 1 ==
      round * threads)
    atomic_store_explicit(&released, round, memory_order_release);
  else
    wait_for(&released, round);
  return value;
}

typedef double meeting(int me, long round, double value);
static meeting* way;

static void* run(void* argument) {
  int me = (int)(long)argument;
  pin(me);
  pthread_barrier_wait(&begin);
  double value = 0, start = 0;
  for (long i = 1; i <= ROUNDS; ++i) {
    if (i == ROUNDS / 10) start = bench_now_s();
    value += way(me, i, me);
  }
  seconds[me] = (bench_now_s() - start) / (ROUNDS - ROUNDS / 10);
  if (value < 0) printf("never\n");
  return NULL;
}

/* Who reads from whom: groups of at most `radix` units in each stage, a unit of the next stage is a group. */
static void plan(void) {
  int first[MOST + 1], units = threads;
  for (int i = 0; i <= threads; ++i) first[i] = i;
  stages = 0;
  while (units > 1) {
    int groups = 0, next[MOST + 1];
    for (int g = 0; g < units; g += radix) {
      int end = g + radix < units ? g + radix : units;
      next[groups++] = first[g];
      for (int u = g; u < end; ++u)
        for (int t = first[u]; t < first[u + 1]; ++t) {
          partners[t][stages] = end - g;
          for (int v = g; v < end; ++v)
            partner[t][stages][v - g] =
                first[v] + (t - first[u]) % (first[v + 1] - first[v]);
        }
    }
    next[groups] = threads;
    memcpy(first, next, sizeof first);
    units = groups;
    ++stages;
  }
}

static void measure(const char* name, meeting* which) {
  double values[REPEATS];
  way = which;
  for (int r = 0; r < REPEATS; ++r) {
    pthread_t ids[MOST];
    memset(lines, 0, sizeof lines);
    atomic_store(&arrived, 0);
    atomic_store(&released, 0);
    pthread_barrier_init(&begin, NULL, (unsigned)threads);
    for (int t = 0; t < threads; ++t)
      if (pthread_create(&ids[t], NULL, run, (void*)(long)t)) exit(1);
    values[r] = 0;
    for (int t = 0; t < threads; ++t) {
      pthread_join(ids[t], NULL);
      if (seconds[t] > values[r]) values[r] = seconds[t];
    }
    pthread_barrier_destroy(&begin);
  }
  bench_print(name, threads, 1e6 * bench_median(values, REPEATS), "us");
}

int main(int argc, char** argv) {
  long counts[16], radices[16];
  int number = bench_sizes(bench_option(argc, argv, "cores", "2"), counts, 16);
  int forms = bench_sizes(bench_option(argc, argv, "radix", "2,3,4,8"), radices, 16);
  for (int i = 0; i < number; ++i) {
    threads = counts[i] < 2 ? 2 : counts[i] > MOST ? MOST : (int)counts[i];
    measure("meet_central", central);
    for (sums = 0; sums < 2; ++sums) {
      char name[32];
      measure(sums ? "sum_flat" : "meet_flat", flat);
      measure(sums ? "sum_pass" : "meet_pass", pass);
      measure(sums ? "sum_ahead" : "meet_ahead", ahead);
      for (int f = 0; f < forms; ++f) {
        radix = radices[f] < 2 ? 2 : (int)radices[f];
        plan();
        snprintf(name, sizeof name, "%s_r%d", sums ? "sum" : "meet", radix);
        measure(name, staged);
      }
    }
    sums = 0;
  }
  return 0;
}
