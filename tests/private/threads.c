// Affinity as a rank sees it, nested functions on its stack, threads and their core set.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "host_api.h"

static int apply(int (*function)(int), int value) { return function(value); }

static void check_nested(int rank) {
  int local = rank;
  int nested(int value) { return value + local++; }
  CHECK_THAT(apply(nested, 1) == rank + 1);
  test_yield();
  CHECK_THAT(apply(nested, 1) == rank + 2 && local == rank + 2);
}

static void* check_nested_here(void* rank) {
  check_nested(*(int*)rank);
  return NULL;
}

static void check_nested_in_thread(int rank) {
  pthread_t thread;
  CHECK_THAT(pthread_create(&thread, NULL, check_nested_here, &rank) == 0);
  pthread_join(thread, NULL);
}

static void* count_cores(void* argument) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  *(int*)argument = CPU_COUNT(&set);
  return NULL;
}

static void check_affinity(void) {
  cpu_set_t all, one, now;
  CHECK_THAT(sched_getaffinity(0, sizeof all, &all) == 0);
  const int cores = CPU_COUNT(&all);
  int seen = 0;
  pthread_t thread;
  CHECK_THAT(pthread_create(&thread, NULL, count_cores, &seen) == 0);
  pthread_join(thread, NULL);
  CHECK_THAT(seen == cores);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  CHECK_THAT(sched_setaffinity(0, sizeof one, &one) == 0);
  test_yield();
  CHECK_THAT(pthread_getaffinity_np(pthread_self(), sizeof now, &now) == 0);
  CHECK_THAT(CPU_EQUAL(&now, &one));
  CHECK_THAT(pthread_setaffinity_np(pthread_self(), sizeof all, &all) == 0);
  CPU_ZERO(&one);
  CHECK_THAT(sched_setaffinity(0, sizeof one, &one) == -1);
}

int main(void) {
  check_nested(test_rank());
  check_nested_in_thread(test_rank());
  check_affinity();
  return check_failures;
}
