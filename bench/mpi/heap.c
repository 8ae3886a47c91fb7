/* The cost of memory for a program: malloc and free of small blocks, all ranks and threads at once.
 *
 *   mpirun -n 16 ./heap --threads=4
 *   mpirun -n 8 ./heap --arrays=1.5M --use=one
 *
 * Each thread keeps 256 blocks of 16 to 512 bytes and replaces one after the other, at random, as
 * trees and lists of a program do; one in 64 is of 4 to 40 KiB. The figure is the time of one
 * free and malloc, on a processor that the thread has for itself: the time of all of them divided
 * by the number of processors, so that runs with many ranks can be compared.
 *
 * With --arrays, arrays of so many bytes instead, 40 of them in each rank: the time of one malloc (and free), with
 * the first touch of what the rank touches of the array.
 *   one:   one byte of each, all kept until the last; once, since a second time memory may be there already
 *   again: the same, each freed before the next
 *   all:   a byte of each 4 KiB, all kept until the last
 *   zero:  one byte of each from calloc, kept
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "bench.h"

enum { LIVE = 256, MAX_THREADS = 64 };

struct worker {
  pthread_t thread;
  uint64_t state;
  long pairs;
  void* live[LIVE];
};

static uint64_t next(uint64_t* state) { /* xorshift64 */
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}

static void* run(void* argument) {
  struct worker* w = argument;
  for (long i = 0; i < w->pairs; ++i) {
    uint64_t random = next(&w->state);
    size_t bytes = 16 + (random >> 8) % 497;
    if ((random >> 32) % 64 == 0) bytes = 4096 + (random >> 40) % 36864;
    void** at = &w->live[random % LIVE];
    free(*at);
    *at = malloc(bytes);
    *(volatile char*)*at = 1;
  }
  return NULL;
}

static long share(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

struct team {
  int count;
  struct worker workers[MAX_THREADS];
};

static double batch(long iterations, void* context) {
  struct team* team = context;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = bench_now_s();
  for (int i = 0; i < team->count; ++i) team->workers[i].pairs = iterations * 64;
  for (int i = 1; i < team->count; ++i)
    pthread_create(&team->workers[i].thread, NULL, run, &team->workers[i]);
  run(&team->workers[0]);
  for (int i = 1; i < team->count; ++i) pthread_join(team->workers[i].thread, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  return (bench_now_s() - start) / 64;
}

enum { ARRAYS = 40, PAGE = 4096 };

/* Microseconds of one array of those that all ranks allocate at once. */
static double arrays_us(size_t bytes, int is_kept, int is_touched_whole, int is_zero) {
  static char* kept[ARRAYS];
  MPI_Barrier(MPI_COMM_WORLD);
  double start = bench_now_s();
  for (int i = 0; i < ARRAYS; ++i) {
    char* array = is_zero ? calloc(bytes, 1) : malloc(bytes);
    if (!array) {
      fprintf(stderr, "no memory for %zu bytes\n", bytes);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (size_t at = 0; at < (is_touched_whole ? bytes : 1); at += PAGE)
      ((volatile char*)array)[at] = 1;
    if (is_kept)
      kept[i] = array;
    else
      free(array);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  double took = bench_now_s() - start;
  for (int i = 0; is_kept && i < ARRAYS; ++i) free(kept[i]);
  return 1e6 * took / ARRAYS;
}

/* One figure a run, since memory that was used once is there already. */
static void arrays(const char* size, const char* use, int rank) {
  long bytes;
  if (bench_sizes(size, &bytes, 1) != 1 || bytes < 1) exit(2);
  char name[64];
  snprintf(name, sizeof name, "heap_arrays_%s", use);
  double us = arrays_us((size_t)bytes, strcmp(use, "again") != 0, !strcmp(use, "all"),
                        !strcmp(use, "zero"));
  if (rank == 0) bench_print(name, bytes, us, "us");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static struct team team;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* size = bench_option(argc, argv, "arrays", "");
  if (*size) {
    arrays(size, bench_option(argc, argv, "use", "one"), rank);
    MPI_Finalize();
    return 0;
  }
  team.count = atoi(bench_option(argc, argv, "threads", "1"));
  if (team.count < 1 || team.count > MAX_THREADS) team.count = 1;
  for (int i = 0; i < team.count; ++i)
    team.workers[i].state =
        88172645463325252ull + 7919ull * (uint64_t)(rank * MAX_THREADS + i);
  bench_batch_s = 0.02; /* threads are made anew in each batch */
  double seconds = bench_run(batch, share, &team);
  long at_once = sysconf(_SC_NPROCESSORS_ONLN), all = (long)ranks * team.count;
  if (all < at_once) at_once = all;
  char name[64];
  snprintf(name, sizeof name, "heap_%d_thread%s", team.count,
           team.count == 1 ? "" : "s");
  if (rank == 0)
    bench_print(name, ranks, 1e9 * seconds * (double)at_once / (double)all, "ns");
  for (int i = 0; i < team.count; ++i)
    for (int j = 0; j < LIVE; ++j) free(team.workers[i].live[j]);
  MPI_Finalize();
  return 0;
}
