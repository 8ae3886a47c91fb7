/* Common parts of the benchmarks: sizes from the command line, batches, medians, output.
 *
 * Output is one line per figure on rank 0: "BENCH name parameter value unit". The value is the
 * median over batches; each batch is long enough for the clock. Standard C11 and MPI-3 only,
 * so that any mpicc compiles it.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BENCH_MAX_BATCHES = 101 };

/* A batch lasts at least this long; a figure takes at most about the budget, which the environment
 * variable BENCH_BUDGET_S changes (a machine that is lent for minutes). */
#define BENCH_BATCH_S 0.002
static double bench_batch_s = BENCH_BATCH_S;
static double bench_budget_s = 0.25;

static inline double bench_now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline int bench_compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static inline double bench_median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, bench_compare);
  return count % 2 ? values[count / 2]
                   : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static inline void bench_print(const char* name, long parameter, double value,
                               const char* unit) {
  printf("BENCH %s %ld %.6g %s\n", name, parameter, value, unit);
  fflush(stdout);
}

/* "8,64,1k,1.25M" -> numbers. Returns how many; ends the program if the text is no such list. */
static inline int bench_sizes(const char* text, long* sizes, int limit) {
  int count = 0;
  while (*text && count < limit) {
    char* end;
    double value = strtod(text, &end);
    if (end != text && (*end == 'k' || *end == 'K'))
      value *= 1024, ++end;
    else if (end != text && (*end == 'm' || *end == 'M'))
      value *= 1024 * 1024, ++end;
    if (end == text || !(value >= 0) || value > 1e15 || (*end && *end != ',')) {
      fprintf(stderr, "'%s' is no list of sizes such as 8,64,1k,1.25M\n", text);
      exit(2);
    }
    sizes[count++] = (long)value;
    text = *end == ',' ? end + 1 : end;
  }
  return count;
}

/* The value of "--name=value", or the fallback. */
static inline const char* bench_option(int argc, char** argv, const char* name,
                                       const char* fallback) {
  size_t length = strlen(name);
  for (int i = 1; i < argc; ++i)
    if (!strncmp(argv[i], "--", 2) && !strncmp(argv[i] + 2, name, length) &&
        argv[i][2 + length] == '=')
      return argv[i] + 3 + length;
  return fallback;
}

/* Whether the list "a,b,c" has the word. */
static inline int bench_listed(const char* list, const char* word) {
  size_t length = strlen(word);
  for (const char* at = list; (at = strstr(at, word)); at += length)
    if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length])) return 1;
  return 0;
}

/* A buffer on its own pages, all of them touched. */
static inline char* bench_buffer(long bytes) {
  size_t size = ((size_t)bytes + 4095) / 4096 * 4096 + 4096;
  char* buffer = aligned_alloc(4096, size);
  if (!buffer) {
    fprintf(stderr, "no memory for %zu bytes\n", size);
    exit(1);
  }
  memset(buffer, 1, size);
  return buffer;
}

/* Runs `batch(iterations, context)`, which returns its seconds (the same on every rank), until the
 * batches are long enough and there are enough of them. Returns the median seconds of one
 * iteration. `share` gives rank 0's number to all ranks, so that every rank makes the same
 * decisions. */
typedef double bench_batch(long iterations, void* context);
typedef long bench_share(long value);

static inline double bench_run(bench_batch* batch, bench_share* share, void* context) {
  double values[BENCH_MAX_BATCHES];
  long iterations = 1;
  const char* budget = getenv("BENCH_BUDGET_S");
  if (budget && atof(budget) > 0) bench_budget_s = atof(budget);
  double start = bench_now_s();
  batch(1, context); /* the first call also connects, and makes schedules and caches */
  for (;;) {         /* warm up and find the length of a batch */
    double took = batch(iterations, context);
    long next = took >= bench_batch_s ? 0 : iterations * 2;
    if (took > 0 && next && bench_batch_s / took > 4) next = iterations * 4;
    next = share(next);
    if (!next) break;
    iterations = next;
  }
  int count = 0;
  for (;;) {
    values[count++] = batch(iterations, context) / (double)iterations;
    double used = bench_now_s() - start;
    int enough = count == BENCH_MAX_BATCHES || (used > bench_budget_s && count >= 3) ||
                 used > 20 * bench_budget_s;
    if (!share(!enough)) break;
  }
  return bench_median(values, count);
}

#ifdef MPI_VERSION
/* From the first rank's start to the last one's end: what all of them together took. A rank's own time
 * leaves out when it was not on a core, of which ranks that wait for nobody may have half of the time and
 * less. */
static inline double bench_span(double start) {
  double mine[2] = {-start, bench_now_s()}, last[2];
  MPI_Allreduce(mine, last, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return last[0] + last[1];
}

/* Where ranks outnumber cores and wait for nobody, a batch is so long that what the ranks
 * take to leave the barrier before it (0.1 s if they wait actively) does not count. */
static inline void bench_batch_for(int ranks, int wait_for_each_other) {
  const int is_long = !wait_for_each_other && ranks > sysconf(_SC_NPROCESSORS_ONLN);
  bench_batch_s = is_long ? 0.5 : BENCH_BATCH_S;
}
#endif

#endif
