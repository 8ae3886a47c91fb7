/* The limits of the machine: two threads pinned to two cores, without any MPI.
 *
 *   ./floor --cores=0,1 --sizes=64k,1M [--only=pingpong|ring|halo|wave]
 *
 * pingpong   one way of a ping-pong over two cache lines, one per direction (what a message
 *            of a few bytes cannot beat).
 * ring       messages of 8 bytes a second through a ring of cells, four to a line, of which the sender claims
 *            each by one atomic operation: what a rate of messages cannot beat (--only=ring).
 * halo       a face of `layouts --which=halo`: both threads compute the numbers of theirs, pack them, and
 *            unpack those of the other one, by plain loops (--only=halo).
 * wave       a wave of `wavefront` over two threads, with a line for each number (--only=wave).
 * copy       one memcpy, by the receiver, of a buffer in the sender's hands, in a ping-pong with
 *            separate warm buffers: the buffer use of `latency --buffers=separate`.
 * copy_bounce  the same when each side receives into the buffer that it sends from, so that
 *            the copy reads what the other core just wrote.
 */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "bench.h"
#include "pinned.h"

static _Alignas(128) atomic_long to_first;
static _Alignas(128) atomic_long to_second;
static int cores[2];
static char *out[2], *in[2];
static long bytes;
static long rounds;
static double* copy_s; /* seconds of each copy of the first thread */

static inline void wait_for(atomic_long* flag, long value) {
  while (atomic_load_explicit(flag, memory_order_acquire) != value)
    __builtin_ia32_pause();
}

/* The second thread answers each round. */
static void* answer(void* unused) {
  (void)unused;
  for (long i = 1; i <= rounds; ++i) {
    wait_for(&to_second, i);
    if (bytes) memcpy(in[1], out[0], (size_t)bytes);
    atomic_store_explicit(&to_first, i, memory_order_release);
  }
  return NULL;
}

/* Seconds of one round trip, on average. */
static double pingpong(void) {
  atomic_store(&to_first, 0);
  atomic_store(&to_second, 0);
  pthread_t thread = start_on(cores[1], answer, NULL);
  double start = bench_now_s();
  for (long i = 1; i <= rounds; ++i) {
    if (i == rounds / 10 + 1) start = bench_now_s(); /* the first tenth warms up */
    atomic_store_explicit(&to_second, i, memory_order_release);
    wait_for(&to_first, i);
    if (bytes) {
      double before = bench_now_s();
      memcpy(in[0], out[1], (size_t)bytes);
      copy_s[i - 1] = bench_now_s() - before;
    }
  }
  double took = bench_now_s() - start;
  pthread_join(thread, NULL);
  return took / (double)(rounds - rounds / 10);
}

static void measure_pingpong(void) {
  double values[15];
  bytes = 0;
  rounds = 20000;
  for (int i = 0; i < 15; ++i) values[i] = pingpong() / 2;
  bench_print("pingpong", 8, 1e6 * bench_median(values, 15), "us");
}

/* A message: its number and 8 bytes. */
enum { CELLS = 256, RING_MESSAGES = 400000 };
static _Alignas(128) struct cell {
  atomic_long number;
  double data;
} cells[CELLS];
static _Alignas(128) atomic_long claimed;
static _Alignas(128) atomic_long taken;
static _Alignas(128) double sum;

static void* take(void* unused) {
  (void)unused;
  double all = 0;
  for (long i = 0; i < RING_MESSAGES; ++i) {
    struct cell* cell = &cells[i % CELLS];
    wait_for(&cell->number, i + 1);
    all += cell->data;
    /* Seldom, so that the line stays here. */
    if (i % (CELLS / 4) == 0) atomic_store_explicit(&taken, i, memory_order_release);
  }
  sum = all;
  return NULL;
}

static double ring(void) {
  for (int i = 0; i < CELLS; ++i) atomic_store(&cells[i].number, 0);
  atomic_store(&claimed, 0);
  atomic_store(&taken, 0);
  pthread_t thread = start_on(cores[1], take, NULL);
  double start = bench_now_s();
  long seen = 0;
  for (long i = 0; i < RING_MESSAGES; ++i) {
    while (i - seen >= CELLS) {
      seen = atomic_load_explicit(&taken, memory_order_acquire);
      if (i - seen >= CELLS) __builtin_ia32_pause();
    }
    long at = i;
    atomic_compare_exchange_strong_explicit(&claimed, &at, i + 1, memory_order_relaxed,
                                            memory_order_relaxed);
    struct cell* cell = &cells[at % CELLS];
    cell->data = 1;
    atomic_store_explicit(&cell->number, at + 1, memory_order_release);
  }
  pthread_join(thread, NULL);
  return bench_now_s() - start;
}

static void measure_ring(void) {
  double values[15];
  for (int i = 0; i < 15; ++i) values[i] = 1e-6 * RING_MESSAGES / ring();
  bench_print("ring", 8, bench_median(values, 15), "M/s");
}

/* ---- halo: a cube of 64^3 doubles each; a number in each 512 bytes ---- */
enum { FACE = 64 * 64, STEP = 512, EXCHANGES = 1000 };
static _Alignas(128) struct face {
  atomic_long number;
  double data[2][FACE];
} faces[2];
static char* cube[2];

static void exchange_faces(int me) {
  char* mine = cube[me];
  for (long i = 1; i <= EXCHANGES; ++i) {
    double* packed = faces[me].data[i & 1];
    const double* other = faces[1 - me].data[i & 1];
    for (int k = 0; k < FACE; ++k) *(volatile double*)(mine + 64 + k * STEP) = k;
    for (int k = 0; k < FACE; ++k) packed[k] = *(double*)(mine + 64 + k * STEP);
    atomic_store_explicit(&faces[me].number, i, memory_order_release);
    while (atomic_load_explicit(&faces[1 - me].number, memory_order_acquire) < i)
      __builtin_ia32_pause();
    for (int k = 0; k < FACE; ++k) *(double*)(mine + k * STEP) = other[k];
  }
}

static void* exchange_second(void* unused) {
  (void)unused;
  exchange_faces(1);
  return NULL;
}

static double halo(void) {
  for (int i = 0; i < 2; ++i) atomic_store(&faces[i].number, 0);
  pthread_t thread = start_on(cores[1], exchange_second, NULL);
  double start = bench_now_s();
  exchange_faces(0);
  double took = bench_now_s() - start;
  pthread_join(thread, NULL);
  return took / EXCHANGES;
}

static void measure_halo(void) {
  double values[15];
  for (int i = 0; i < 2; ++i) cube[i] = bench_buffer((FACE + 1) * (long)STEP);
  for (int i = 0; i < 15; ++i) values[i] = 1e6 * halo();
  bench_print("halo", FACE * (long)sizeof(double), bench_median(values, 15), "us");
}

/* ---- wave: rows and work as in wavefront.c with two ranks ---- */
enum { ROWS = 2000, WORK = 10000 };
static struct {
  _Alignas(128) atomic_long number;
  double data;
} numbers[ROWS];

static double work(double number) {
  for (volatile int i = 0; i < WORK; ++i) number += 1e-9;
  return number;
}

static void* take_rows(void* unused) {
  (void)unused;
  double all = 0;
  for (int row = 0; row < ROWS; ++row) {
    wait_for(&numbers[row].number, 1);
    all = work(numbers[row].data);
  }
  sum = all;
  return NULL;
}

static double wave(void) {
  for (int row = 0; row < ROWS; ++row) atomic_store(&numbers[row].number, 0);
  pthread_t thread = start_on(cores[1], take_rows, NULL);
  double number = 0, start = bench_now_s();
  for (int row = 0; row < ROWS; ++row) {
    numbers[row].data = number = work(number);
    atomic_store_explicit(&numbers[row].number, 1, memory_order_release);
  }
  pthread_join(thread, NULL);
  return bench_now_s() - start;
}

static void measure_wave(void) {
  double values[7];
  for (int i = 0; i < 7; ++i) values[i] = 1e3 * wave();
  bench_print("wave", 2, bench_median(values, 7), "ms");
}

static void measure_copy(long size, int bounce) {
  bytes = size;
  rounds = 64 + (64L << 20) / size;
  if (rounds > 4000) rounds = 4000;
  copy_s = malloc(sizeof *copy_s * (size_t)rounds);
  for (int side = 0; side < 2; ++side) {
    out[side] = bench_buffer(size);
    in[side] = bounce ? out[side] : bench_buffer(size);
  }
  pingpong();
  pingpong();
  bench_print(bounce ? "copy_bounce" : "copy", size,
              1e6 * bench_median(copy_s + rounds / 10, (int)(rounds - rounds / 10)),
              "us");
  for (int side = 0; side < 2; ++side) {
    if (!bounce) free(in[side]);
    free(out[side]);
  }
  free(copy_s);
}

int main(int argc, char** argv) {
  long sizes[32], list[2] = {0, 1};
  bench_sizes(bench_option(argc, argv, "cores", "0,1"), list, 2);
  cores[0] = (int)list[0];
  cores[1] = (int)list[1];
  pin(cores[0]);
  const char* only = bench_option(argc, argv, "only", "");
  if (bench_listed(only, "pingpong")) measure_pingpong();
  if (bench_listed(only, "ring")) measure_ring();
  if (bench_listed(only, "halo")) measure_halo();
  if (bench_listed(only, "wave")) measure_wave();
  if (*only) return 0;
  measure_pingpong();
  int count = bench_sizes(bench_option(argc, argv, "sizes", "8k,64k,1M,4M"), sizes, 32);
  for (int i = 0; i < count; ++i) {
    measure_copy(sizes[i], 0);
    measure_copy(sizes[i], 1);
  }
  return 0;
}
