/* The limits of the machine for a barrier of many processes on few cores, without any MPI: processes of one host
 * that share a page.
 *
 *   ./processes [--processes=16]
 *
 *   barrier_of_processes        a counter and a number; who waits gives the core away by sched_yield()
 *   allreduce_8B_of_processes   the same, with a sum: each adds its value to that of the round
 *   barrier_by_futex            who waits sleeps in the system until the last one wakes all
 *
 * in us, of all cores of the machine. Each process must get a core once for each barrier, so the least
 * there is is the time of (processes / cores) changes of process. What `bench hosts` shows beside the same of each MPI.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { ROUNDS = 5000, REPEATS = 7, SPINS = 20 };

struct shared {
  _Alignas(128) atomic_long arrived;
  _Alignas(128) atomic_int number;
  _Alignas(128) _Atomic double sums[2];
  _Alignas(128) double us[REPEATS];
};
static struct shared* all;
static int processes;

/* Returns the sum over all processes of this round. */
static double meet(int round, int sleeps, double value) {
  _Atomic double* sum = &all->sums[round & 1];
  double old = atomic_load(sum);
  while (value != 0 && !atomic_compare_exchange_weak(sum, &old, old + value)) continue;
  if (atomic_fetch_add(&all->arrived, 1) + 1 == (long)processes * (round + 1)) {
    if (value != 0) atomic_store(&all->sums[(round + 1) & 1], 0);
    atomic_store(&all->number, round + 1);
    if (sleeps) syscall(SYS_futex, &all->number, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
  }
  for (int spins = 0; atomic_load(&all->number) <= round; ++spins) {
    if (spins < SPINS)
      __builtin_ia32_pause();
    else if (sleeps)
      syscall(SYS_futex, &all->number, FUTEX_WAIT, round, NULL, NULL, 0);
    else
      sched_yield();
  }
  return atomic_load(sum);
}

static void work(int me, int sleeps, double value) {
  for (int repeat = 0, round = 0; repeat < REPEATS; ++repeat) {
    double start = bench_now_s();
    for (int i = 0; i < ROUNDS; ++i, ++round) {
      double sum = meet(round, sleeps, value);
      if (value != 0 && sum != processes * value) {
        fprintf(stderr, "processes: %g instead of %g\n", sum, processes * value);
        _exit(1);
      }
    }
    if (me == 0) all->us[repeat] = 1e6 * (bench_now_s() - start) / ROUNDS;
  }
}

static void measure(const char* name, int sleeps, double value) {
  memset(all, 0, sizeof *all);
  for (int me = 0; me < processes; ++me) {
    if (fork() == 0) {
      work(me, sleeps, value);
      _exit(0);
    }
  }
  for (int status, bad = 0; wait(&status) > 0;)
    if (status != 0 && !bad++) fprintf(stderr, "processes: status %d\n", status);
  bench_print(name, processes, bench_median(all->us, REPEATS), "us");
}

int main(int argc, char** argv) {
  processes = atoi(bench_option(argc, argv, "processes", "16"));
  if (processes < 1) return 2;
  all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
             0);
  if (all == MAP_FAILED) return 2;
  measure("barrier_of_processes", 0, 0);
  measure("allreduce_8B_of_processes", 0, 1);
  measure("barrier_by_futex", 1, 0);
  return 0;
}
