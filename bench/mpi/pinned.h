/* Threads on cores of their own, for the programs that measure the machine without any MPI: floor, meeting, switches.
 * Any thread may call these. Define _GNU_SOURCE before the first include.
 */
#ifndef PINNED_H
#define PINNED_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static inline void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set))
    fprintf(stderr, "cannot bind to core %d\n", core);
}

/* A thread that is on its core from its first instruction: with a real-time priority it would
 * otherwise wait for ever behind the first thread, which polls. */
static inline pthread_t start_on(int core, void* (*body)(void*), void* argument) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, body, argument)) {
    fprintf(stderr, "cannot start a thread on core %d\n", core);
    exit(1);
  }
  pthread_attr_destroy(&attributes);
  return thread;
}

#endif
