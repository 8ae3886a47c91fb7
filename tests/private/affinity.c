// Which cores a rank and its threads see and have: by attributes and without, set by the program,
// in children.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_api.h"

static cpu_set_t now(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}
static int is(const cpu_set_t* a, cpu_set_t b) { return CPU_EQUAL(a, &b); }
static cpu_set_t last_of(const cpu_set_t* set) {
  cpu_set_t one;
  int last = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, set)) last = core;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  return one;
}

static void* look(void* seen) {
  *(cpu_set_t*)seen = now();
  return NULL;
}
static cpu_set_t seen_by_thread(const pthread_attr_t* attributes) {
  cpu_set_t seen;
  CPU_ZERO(&seen);
  pthread_t thread;
  CHECK_THAT(pthread_create(&thread, attributes, look, &seen) == 0);
  CHECK_THAT(pthread_join(thread, NULL) == 0);
  return seen;
}

// All ways to ask give the same answer.
static void check_answers(const cpu_set_t* all) {
  cpu_set_t set;
  CHECK_THAT(sched_getaffinity(getpid(), sizeof set, &set) == 0 && is(&set, *all));
  CHECK_THAT(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0 &&
             is(&set, *all));
  pthread_attr_t attributes;
  CHECK_THAT(pthread_getattr_np(pthread_self(), &attributes) == 0);
  CHECK_THAT(pthread_attr_getaffinity_np(&attributes, sizeof set, &set) == 0 &&
             is(&set, *all));
  pthread_attr_destroy(&attributes);
}

// A thread may run where its creator may, with attributes and without, unless they say where.
static void check_threads(const cpu_set_t* all) {
  CHECK_THAT(is(all, seen_by_thread(NULL)));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK_THAT(is(all, seen_by_thread(&attributes)));
  pthread_attr_setstacksize(&attributes, 1 << 20);
  CHECK_THAT(is(all, seen_by_thread(&attributes)));
  const cpu_set_t one = last_of(all);
  pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
  CHECK_THAT(is(&one, seen_by_thread(&attributes)));
  pthread_attr_destroy(&attributes);
}

static void* set_own(void* argument) {
  const cpu_set_t one = last_of(argument);
  CHECK_THAT(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK_THAT(is(&one, now()));
  CHECK_THAT(is(&one, seen_by_thread(NULL)));  // its threads go on from there
  return NULL;
}

static pthread_t main_thread;
static void* set_main(void* argument) {
  CHECK_THAT(pthread_setaffinity_np(main_thread, sizeof(cpu_set_t), argument) == 0);
  return NULL;
}

static void check_setting(cpu_set_t* all) {
  pthread_t thread;
  pthread_create(&thread, NULL, set_own, all);
  pthread_join(thread, NULL);
  CHECK_THAT(is(all, now()));
  cpu_set_t one = last_of(all);
  CHECK_THAT(sched_setaffinity(0, sizeof one, &one) == 0);
  test_yield();
  CHECK_THAT(is(&one, now()));
  check_answers(&one);
  CHECK_THAT(is(&one, seen_by_thread(NULL)));
  main_thread = pthread_self();
  pthread_create(&thread, NULL, set_main, all);
  pthread_join(thread, NULL);
  CHECK_THAT(is(all, now()));
  CHECK_THAT(sched_setaffinity(getpid(), sizeof *all, all) == 0);
  CHECK_THAT(is(all, now()));
  cpu_set_t none;
  CPU_ZERO(&none);
  CHECK_THAT(sched_setaffinity(0, sizeof none, &none) == -1 && errno == EINVAL);
  CHECK_THAT(is(all, now()));
}

// A rank that is alone on its core really goes where it wants to.
static void check_place(const cpu_set_t* all) {
  const char* ranks = getenv("RANKS");
  if (ranks == NULL || strcmp(ranks, "1") != 0) return;
  cpu_set_t one = last_of(all);
  CHECK_THAT(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK_THAT(CPU_ISSET(sched_getcpu(), &one));
  CHECK_THAT(sched_setaffinity(0, sizeof *all, all) == 0);
}

static void check_child(const cpu_set_t* all) {
  const pid_t child = fork();
  if (child == 0) _exit(is(all, now()) ? 0 : 1);
  int status = -1;
  CHECK_THAT(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  cpu_set_t all = now();
  CHECK_THAT(CPU_COUNT(&all) >= 1);
  check_answers(&all);
  check_child(&all);
  check_threads(&all);
  check_setting(&all);
  check_place(&all);
  check_child(&all);
  return check_failures;
}
