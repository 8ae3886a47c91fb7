// CPU time of a rank is its own: rank 1 computes while rank 0, on the same core, waits.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "host_api.h"

static double of_clock(void) { return (double)clock() / CLOCKS_PER_SEC; }
static double of_usage(int who) {
  struct rusage u;
  CHECK_THAT(getrusage(who, &u) == 0);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}
static double of_id(clockid_t id) {
  struct timespec t;
  CHECK_THAT(clock_gettime(id, &t) == 0);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double of_times(void) {
  struct tms t;
  CHECK_THAT(times(&t) != (clock_t)-1);
  return (double)(t.tms_utime + t.tms_stime) / (double)sysconf(_SC_CLK_TCK);
}

static void burn(double seconds) {
  for (const double end = of_clock() + seconds; of_clock() < end;) {
  }
}

static void* burn_in_thread(void* argument) {
  burn(0.05);
  return argument;
}

int main(void) {
  const double begin = of_clock();
  for (int i = 0; i < 20; ++i) {
    if (test_rank() == 1) burn(0.02);
    test_yield();
  }
  const double used = of_clock() - begin;
  CHECK_THAT(test_rank() == 1 ? used >= 0.39 : used < 0.2);
  const double all[] = {of_clock(), of_usage(RUSAGE_SELF),
                        of_id(CLOCK_PROCESS_CPUTIME_ID), of_times(),
                        of_id(CLOCK_THREAD_CPUTIME_ID)};
  for (int i = 1; i < 5; ++i)
    CHECK_THAT(all[i] > all[0] - 0.05 && all[i] < all[0] + 0.05);
  const double before = of_clock(), thread_before = of_id(CLOCK_THREAD_CPUTIME_ID);
  pthread_t thread;
  CHECK_THAT(pthread_create(&thread, NULL, burn_in_thread, NULL) == 0);
  CHECK_THAT(pthread_join(thread, NULL) == 0);
  CHECK_THAT(of_clock() - before >= 0.045);
  CHECK_THAT(of_id(CLOCK_THREAD_CPUTIME_ID) - thread_before < 0.04);
  return check_failures;
}
