// Ways to wait for threads of a rank and to end them; attributes, names, the main thread's stack.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "host_api.h"

static struct timespec in_ms(clockid_t clock, long ms) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += ms % 1000 * 1000000;
  time.tv_sec += ms / 1000 + time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

// ---- waiting for the end

static void* wait_for(void* semaphore) {
  while (sem_wait(semaphore) != 0) {
  }
  return semaphore;
}

static void check_joins(void) {
  sem_t go;
  sem_init(&go, 0, 0);
  pthread_t thread;
  void* value = NULL;
  const struct timespec past = {1, 0};
  for (int way = 0; way < 4; ++way) {
    CHECK_THAT(pthread_create(&thread, NULL, wait_for, &go) == 0);
    CHECK_THAT(pthread_tryjoin_np(thread, &value) == EBUSY);
    CHECK_THAT(pthread_timedjoin_np(thread, &value, &past) == ETIMEDOUT);
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    CHECK_THAT(pthread_timedjoin_np(thread, &value, &soon) == ETIMEDOUT);
    soon = in_ms(CLOCK_MONOTONIC, 20);
    CHECK_THAT(pthread_clockjoin_np(thread, &value, CLOCK_MONOTONIC, &soon) ==
               ETIMEDOUT);
    value = NULL;
    sem_post(&go);
    struct timespec late = in_ms(CLOCK_REALTIME, 100000);
    int error = EBUSY;
    if (way == 0) error = pthread_timedjoin_np(thread, &value, &late);
    if (way == 1) error = pthread_timedjoin_np(thread, &value, NULL);
    late = in_ms(CLOCK_MONOTONIC, 100000);
    if (way == 2) error = pthread_clockjoin_np(thread, &value, CLOCK_MONOTONIC, &late);
    while (way == 3 && (error = pthread_tryjoin_np(thread, &value)) == EBUSY)
      test_yield();
    CHECK_THAT(error == 0 && value == &go);
  }
  sem_destroy(&go);
}

static int c11_thread(void* argument) {
  struct timespec moment = {0, 10000000};
  thrd_sleep(&moment, NULL);
  return *(int*)argument + 1;
}

static void check_c11(void) {
  thrd_t thread;
  int number = 41, result = 0;
  CHECK_THAT(thrd_create(&thread, c11_thread, &number) == thrd_success);
  CHECK_THAT(thrd_join(thread, &result) == thrd_success && result == 42);
}

// ---- the end: destructors, cancellation

static pthread_key_t key;
static int destroyed, cleaned;
static void destroy(void* value) { destroyed += *(int*)value; }
static void clean(void* argument) { cleaned += *(int*)argument; }

static void* with_key(void* value) {
  pthread_setspecific(key, value);
  return NULL;
}
static void* until_cancelled(void* value) {
  pthread_setspecific(key, value);
  pthread_cleanup_push(clean, value);
  for (;;) pause();
  pthread_cleanup_pop(1);
  return NULL;
}

static void check_ends(void) {
  int one = 1;
  pthread_t thread;
  pthread_key_create(&key, destroy);
  pthread_create(&thread, NULL, with_key, &one);
  pthread_join(thread, NULL);
  CHECK_THAT(destroyed == 1);
  void* value = NULL;
  pthread_create(&thread, NULL, until_cancelled, &one);
  CHECK_THAT(pthread_cancel(thread) == 0);
  CHECK_THAT(pthread_join(thread, &value) == 0 && value == PTHREAD_CANCELED);
  CHECK_THAT((cleaned == 1 && destroyed == 2) || (cleaned == 0 && destroyed == 1));
  pthread_key_delete(key);
}

// ---- attributes

static void* own_attributes(void* result) {
  pthread_getattr_np(pthread_self(), result);
  return NULL;
}

static void check_stack_of_main(void) {
  pthread_attr_t attributes;
  void* low = NULL;
  size_t bytes = 0;
  char here;
  CHECK_THAT(pthread_getattr_np(pthread_self(), &attributes) == 0);
  CHECK_THAT(pthread_attr_getstack(&attributes, &low, &bytes) == 0);
  CHECK_THAT(&here > (char*)low && &here < (char*)low + bytes && bytes >= 64 * 1024);
  pthread_attr_destroy(&attributes);
}

// Libc may take a larger stack that it has, and counts the guard or does not.
static int is_enough(size_t bytes, size_t wanted) {
  return bytes >= wanted - (64 << 10);
}

static void check_attributes(void) {
  pthread_t thread;
  pthread_attr_t wanted, got;
  size_t bytes = 0;
  void* low = NULL;
  pthread_attr_init(&wanted);
  CHECK_THAT(pthread_attr_setstacksize(&wanted, 13 << 20) == 0);
  CHECK_THAT(pthread_create(&thread, &wanted, own_attributes, &got) == 0);
  pthread_join(thread, NULL);
  CHECK_THAT(pthread_attr_getstacksize(&got, &bytes) == 0 &&
             is_enough(bytes, 13 << 20));
  pthread_attr_destroy(&got);
  enum { kOwn = 1 << 20 };
  void* own = aligned_alloc(4096, kOwn);
  CHECK_THAT(pthread_attr_setstack(&wanted, own, kOwn) == 0);
  CHECK_THAT(pthread_create(&thread, &wanted, own_attributes, &got) == 0);
  pthread_join(thread, NULL);
  CHECK_THAT(pthread_attr_getstack(&got, &low, &bytes) == 0 && low == own &&
             bytes == kOwn);
  pthread_attr_destroy(&got);
  pthread_attr_destroy(&wanted);
  free(own);
}

// The attributes of threads without any belong to the rank.
static void check_defaults(void) {
  const size_t wanted = (size_t)(16 + test_rank() % 7) << 20;
  pthread_attr_t attributes, got;
  size_t bytes = 0;
  CHECK_THAT(pthread_getattr_default_np(&attributes) == 0);
  CHECK_THAT(pthread_attr_setstacksize(&attributes, wanted) == 0);
  CHECK_THAT(pthread_setattr_default_np(&attributes) == 0);
  pthread_attr_destroy(&attributes);
  for (int i = 0; i < 5; ++i) test_yield();
  pthread_t thread;
  CHECK_THAT(pthread_create(&thread, NULL, own_attributes, &got) == 0);
  pthread_join(thread, NULL);
  CHECK_THAT(pthread_attr_getstacksize(&got, &bytes) == 0 && is_enough(bytes, wanted));
  pthread_attr_destroy(&got);
  CHECK_THAT(pthread_getattr_default_np(&got) == 0);
  CHECK_THAT(pthread_attr_getstacksize(&got, &bytes) == 0 && bytes == wanted);
  pthread_attr_destroy(&got);
}

// ---- names, detaching

static void check_names(void) {
  char wanted[16], name[16];
  snprintf(wanted, sizeof wanted, "rank %d", test_rank());
  CHECK_THAT(pthread_setname_np(pthread_self(), wanted) == 0);
  test_yield();
  CHECK_THAT(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
  CHECK_THAT(strcmp(name, wanted) == 0);
  CHECK_THAT(pthread_setname_np(pthread_self(), "longer than 15 letters") == ERANGE);
}

static void* join_main(void* main_thread) {
  void* value = NULL;
  if (pthread_join(*(pthread_t*)main_thread, &value) != 0 || value != main_thread)
    abort();
  return NULL;
}

int main(int argc, char** argv) {
  (void)argv;
  check_joins();
  check_c11();
  check_ends();
  check_stack_of_main();
  check_attributes();
  check_defaults();
  check_names();
  if (check_failures != 0 || argc < 2) return check_failures;
  // The main thread ends before the others, and one of them waits for that.
  static pthread_t self;
  self = pthread_self();
  pthread_t thread;
  CHECK_THAT(pthread_create(&thread, NULL, join_main, &self) == 0);
  pthread_detach(thread);
  pthread_exit(&self);
}
