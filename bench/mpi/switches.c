/* The limits of the machine for very many ranks on two cores: pinned threads that switch between bare stacks,
 * without any MPI.
 *
 *   ./switches [--cores=0,1] [--ranks=1024] [--only=turn|exchange]
 *
 * turn       each rank has its turn once, and the two threads meet: what no collective that all ranks wait for
 *            can beat, if a rank has a stack, thread-local storage and data of its own, a page of each. The switch
 *            saves six registers; a turn adds to a number on each page.
 * exchange   8 bytes from each rank to each, between buffers that are allocated one by one: half of the receivers
 *            are filled by each thread, which then meet. The quickest of some sizes of tiles.
 *
 * Times of one round in us, medians. What `./run bench many` shows beside 1,024 ranks. x86-64 only.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "bench.h"
#include "pinned.h"

enum { PAGE = 4096, MOST = 1 << 16, ROUNDS = 101, WARM_UP = 20 };

/* As wide as the stacks of processes are by default; what is not touched takes no memory. */
static const size_t STACK = (size_t)8 << 20;

struct line {
  _Alignas(128) atomic_long round;
};
static struct line met[2][2];
static int cores[2], ranks;
static double seconds[ROUNDS];

static void meet(int me, long round) {
  atomic_store_explicit(&met[me][round & 1].round, round, memory_order_seq_cst);
  while (atomic_load_explicit(&met[1 - me][round & 1].round, memory_order_acquire) <
         round)
    __builtin_ia32_pause();
}

/* ---- turn -------------------------------------------------------------------------------------- */

struct rank {
  void* sp;
  long*
      local; /* on the highest page of the stack's mapping, as thread-local storage is */
  long* data; /* of the program */
};
static struct rank* all;

/* switch_to(&from, to): saves the registers that a call keeps, and the stack. */
void switch_to(void** from, void* to);
__asm__(
    ".text\n.globl switch_to\n.type switch_to,@function\nswitch_to:\n"
    "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  mov %rsp, (%rdi)\n  mov %rsi, %rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n  ret\n"
    ".size switch_to,.-switch_to\n");

static _Thread_local int now, end; /* whose turn it is; behind the last one */
static _Thread_local void* home;   /* the thread's own stack */

/* Never returns: the first rank comes again when the thread goes on. */
static void rank_main(void) {
  for (;;) {
    struct rank* me = &all[now];
    ++*me->local, ++*me->data;
    if (++now == end)
      switch_to(&me->sp, home);
    else
      switch_to(&me->sp, all[now].sp);
  }
}

static char* map(size_t bytes) {
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) perror("mmap"), exit(1);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  return memory;
}

static void make_ranks(void) {
  all = malloc(sizeof *all * (size_t)ranks);
  if (!all) perror("malloc"), exit(1);
  /* One page apart, so that they do not fall into the same sets of the caches. */
  const size_t stride = STACK + 2 * PAGE;
  char* stacks = map(stride * (size_t)ranks);
  char* data = map((size_t)5 * PAGE *
                   (size_t)ranks); /* as wide as the data of a small program */
  for (int r = 0; r < ranks; ++r) {
    char* top = stacks + stride * (size_t)(r + 1) - PAGE;
    void** sp = (void**)(top - 512 - 64 * (r % 8));
    *--sp = NULL; /* as if it had been called */
    *--sp = (void*)(uintptr_t)rank_main;
    sp -= 6;
    all[r] = (struct rank){sp, (long*)(top + 1024),
                           (long*)(data + (size_t)5 * PAGE * (size_t)r + 2048)};
  }
}

static void take_turns(int me, long round) {
  now = ranks / 2 * me;
  end = me ? ranks : ranks / 2;
  switch_to(&home, all[now].sp);
  meet(me, round);
}

/* ---- exchange ---------------------------------------------------------------------------------- */

static double **out, **in;
static int tile;

static void make_buffers(void) {
  out = malloc(sizeof *out * (size_t)ranks), in = malloc(sizeof *in * (size_t)ranks);
  for (int r = 0; r < ranks; ++r) {
    out[r] = calloc((size_t)ranks, sizeof **out);
    in[r] = calloc((size_t)ranks, sizeof **in);
    if (!out[r] || !in[r]) perror("calloc"), exit(1);
    for (int i = 0; i < ranks; ++i) out[r][i] = r, in[r][i] = 0;
  }
}

static void exchange(int me, long round) {
  int first = ranks / 2 * me, last = me ? ranks : ranks / 2;
  for (int to = first; to < last; to += tile)
    for (int from = 0; from < ranks; from += tile)
      for (int r = to; r < to + tile && r < last; ++r)
        for (int s = from; s < from + tile && s < ranks; ++s) in[r][s] = out[s][r];
  meet(me, round);
}

/* ---- both -------------------------------------------------------------------------------------- */

static void (*work)(int me, long round);
static long first_round = 1;

static void* run(void* argument) {
  int me = argument != NULL;
  long round = first_round;
  meet(me, round);
  for (int i = -WARM_UP; i < ROUNDS; ++i) {
    double start = bench_now_s();
    work(me, ++round);
    if (!me && i >= 0) seconds[i] = bench_now_s() - start;
  }
  return NULL;
}

static double measure(void (*what)(int, long)) {
  work = what;
  pin(cores[0]);
  pthread_t second = start_on(cores[1], run, cores);
  run(NULL);
  pthread_join(second, NULL);
  first_round += WARM_UP + ROUNDS + 2;
  return 1e6 * bench_median(seconds, ROUNDS);
}

int main(int argc, char** argv) {
  long both[2] = {0, 1}, count = 1024;
  bench_sizes(bench_option(argc, argv, "cores", "0,1"), both, 2);
  bench_sizes(bench_option(argc, argv, "ranks", "1024"), &count, 1);
  cores[0] = (int)both[0], cores[1] = (int)both[1];
  if (count < 2 || count > MOST) return fprintf(stderr, "2 to %d ranks\n", MOST), 2;
  ranks = (int)count;
  const char* only = bench_option(argc, argv, "only", "turn,exchange");
  if (bench_listed(only, "turn")) {
    make_ranks();
    bench_print("turn", ranks, measure(take_turns), "us");
  }
  if (bench_listed(only, "exchange")) {
    make_buffers();
    double best = 0;
    for (tile = 4; tile <= 64; tile *= 2) {
      double us = measure(exchange);
      if (best == 0 || us < best) best = us;
    }
    bench_print("exchange", ranks, best, "us");
  }
  return 0;
}
