/* What the scenes of progress.c have in common: the cast, data that say whose they are, pauses, ways to wait,
   and how late what was waited for was found. */
#ifndef RANDOM_PROGRESS_H
#define RANDOM_PROGRESS_H

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"

enum { kMostRanks = 64, kMostOpen = 64 };

/* One scene: all members of `comm` play it with the same `common` numbers. */
typedef struct {
  MPI_Comm comm, other; /* for its ranks; for threads of theirs */
  int rank, size, round;
  int tag;                /* the first of 100 that belong to the round */
  unsigned long long key; /* of its data */
  source common, own;
  const char* name;
} scene;

static unsigned long long seed;
static int world_rank, failures;
static pthread_mutex_t failing = PTHREAD_MUTEX_INITIALIZER;

static void fail(const scene* s, const char* what, long is, long wanted) {
  pthread_mutex_lock(&failing);
  if (++failures < 10)
    printf("seed %llu, round %d, %s, rank %d of the world: %s is %ld, not %ld\n", seed,
           s->round, s->name, world_rank, what, is, wanted);
  fflush(stdout);
  pthread_mutex_unlock(&failing);
}
static void expect(const scene* s, const char* what, long is, long wanted) {
  if (is != wanted) fail(s, what, is, wanted);
}

/* ---- data ---- */

static unsigned word_of(unsigned long long key, long i) {
  const unsigned long long z = (key ^ (unsigned long long)i) * 0x9e3779b97f4a7c15u;
  return (unsigned)(z >> 32);
}
static unsigned long long key_of(const scene* s, long a, long b) {
  source mixed = seeded(s->key, (unsigned long long)a, (unsigned long long)b);
  return next_number(&mixed);
}
static void fill(unsigned* words, long n, unsigned long long key) {
  for (long i = 0; i < n; ++i) words[i] = word_of(key, i);
}
static void verify(const scene* s, const char* what, const unsigned* words, long first,
                   long n, unsigned long long key) {
  for (long i = first; i < n; ++i)
    if (words[i] != word_of(key, i))
      return fail(s, what, (long)words[i], (long)word_of(key, i));
}
static void* room(size_t bytes) {
  void* const memory = calloc(bytes + 1, 1);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  return memory;
}

/* ---- time ---- */

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void compute(long us) {
  const long long end = now_ns() + us * 1000;
  while (now_ns() < end) {
  }
}

/* How late a short message was found by a thread that slept in a call when it was sent. A tick, 10 ms, is what a
   lost wake-up costs; on a machine that has other things to do it may be that, too. */
enum { kKinds = 8 };
static const char* const kinds[kKinds] = {"receive",       "probe",        "server",
                                          "thread",        "thread probe", "reply",
                                          "thread's wait", "ring"};
static long waits[kKinds], late_waits[kKinds];
static const long long kLateNs = 7000000;

static void note_wait(int kind, long long entered, long long stamp) {
  if (entered >= stamp) return;
  const int is_late = now_ns() - stamp > kLateNs;
  pthread_mutex_lock(&failing);
  ++waits[kind];
  late_waits[kind] += is_late;
  pthread_mutex_unlock(&failing);
}

/* ---- pauses ---- */

static void pause_a_little(source* own) {
  switch (draw(own, 0, 15)) {
    case 0:
    case 1:
    case 2:
      compute(draw(own, 0, 100));
      break;
    case 3:
    case 4:
      compute(draw(own, 0, 1000));
      break;
    case 5:
      compute(draw(own, 0, 5000));
      break;
    case 6:
      if (one_in(own, 3)) compute(draw(own, 5000, 30000));
      break;
    case 7:
      usleep((unsigned)draw(own, 0, 1500));
      break;
    case 8:
      sched_yield();
      break;
    default:
      break;
  }
}

/* ---- ways to wait ---- */

static void rest(source* own) {
  const long how = draw(own, 0, 5);
  if (how == 0) usleep((unsigned)draw(own, 0, 300));
  if (how == 1) compute(draw(own, 0, 200));
  if (how == 2) sched_yield();
}

/* All of them; `all` has null requests afterwards, unless they are persistent ones. */
static void finish(int n, MPI_Request* all, MPI_Status* statuses, source* own) {
  MPI_Status some[kMostOpen];
  int indices[kMostOpen], count = 0, flag = 0;
  switch (draw(own, 0, 6)) {
    case 0:
      for (int i = 0; i < n; ++i) {
        MPI_Wait(&all[i], &statuses[i]);
        pause_a_little(own);
      }
      return;
    case 1:
      for (int i = n - 1; i >= 0; --i)
        for (flag = 0; !flag;) {
          MPI_Test(&all[i], &flag, &statuses[i]);
          if (!flag) rest(own);
        }
      return;
    case 2:
      while (!flag) {
        MPI_Testall(n, all, &flag, statuses);
        if (!flag) rest(own);
      }
      return;
    case 3:
      for (int left = n; left > 0; --left) {
        MPI_Waitany(n, all, &count, &some[0]);
        if (count == MPI_UNDEFINED) return;
        statuses[count] = some[0];
      }
      return;
    case 4:
    case 5:
      for (const int waits_in_call = one_in(own, 2); count != MPI_UNDEFINED;) {
        if (waits_in_call)
          MPI_Waitsome(n, all, &count, indices, some);
        else
          MPI_Testsome(n, all, &count, indices, some);
        for (int i = 0; i < count && count != MPI_UNDEFINED; ++i)
          statuses[indices[i]] = some[i];
        if (count == 0) rest(own);
      }
      return;
    default:
      pause_a_little(own);
      MPI_Waitall(n, all, statuses);
  }
}

#endif
