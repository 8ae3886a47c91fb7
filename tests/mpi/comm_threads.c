// Main threads that wait for a thread of their rank, which waits for other ranks: in semaphores,
// condition variables and barriers, with and without a time limit.
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 100, LATE = 100 };

static int rank, size, from_left;
static sem_t go, done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static int wanted, answered;

static void pass_on(void) {
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &from_left, 1, MPI_INT,
               (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static struct timespec after(clockid_t clock, long ms) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_sec += ms / 1000;
  time.tv_nsec += ms % 1000 * 1000000;
  if (time.tv_nsec >= 1000000000) time.tv_nsec -= 1000000000, ++time.tv_sec;
  return time;
}

static void* communicate(void* unused) {
  for (int round = 0; round < ROUNDS; ++round) {
    while (sem_wait(&go) != 0) {
    }
    pass_on();
    sem_post(&done);
  }
  pthread_mutex_lock(&mutex);
  for (int round = 0; round < ROUNDS; ++round) {
    while (wanted == answered) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    pass_on();
    pthread_mutex_lock(&mutex);
    ++answered;
    if (round % 2)
      pthread_cond_signal(&changed);
    else
      pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  for (int round = 0; round < ROUNDS / 10; ++round) {
    pass_on();
    pthread_barrier_wait(&both);
  }
  return unused;
}

static int wait_for_semaphore(int round) {
  if (round % 3 == 0) return sem_wait(&done);
  const clockid_t clock = round % 3 == 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  const struct timespec late = after(clock, LATE * 1000);
  return clock == CLOCK_REALTIME ? sem_timedwait(&done, &late)
                                 : sem_clockwait(&done, clock, &late);
}

static void check_semaphores(void) {
  const int left = (rank + size - 1) % size;
  for (int round = 0; round < ROUNDS; ++round) {
    sem_post(&go);
    CHECK(wait_for_semaphore(round) == 0);
    CHECK(from_left == left);
    from_left = -1;
    if (round % 2) MPI_Barrier(MPI_COMM_SELF);
  }
  const struct timespec soon = after(CLOCK_REALTIME, 5), past = {1, 0}, none = {0, -1};
  CHECK(sem_timedwait(&done, &soon) == -1 && errno == ETIMEDOUT);
  CHECK(sem_timedwait(&done, &past) == -1 && errno == ETIMEDOUT);
  CHECK(sem_timedwait(&done, &none) == -1 && errno == EINVAL);
}

static void check_conditions(void) {
  pthread_mutex_lock(&mutex);
  for (int round = 0; round < ROUNDS; ++round) {
    ++wanted;
    pthread_cond_signal(&changed);
    const struct timespec late = after(CLOCK_REALTIME, LATE * 1000);
    while (wanted != answered) {
      if (round % 2)
        CHECK(pthread_cond_wait(&changed, &mutex) == 0);
      else
        CHECK(pthread_cond_timedwait(&changed, &mutex, &late) == 0);
    }
  }
  const struct timespec soon = after(CLOCK_REALTIME, 5), past = {1, 0};
  int error = 0;
  while (error == 0) error = pthread_cond_timedwait(&changed, &mutex, &soon);
  CHECK(error == ETIMEDOUT);
  CHECK(pthread_cond_timedwait(&changed, &mutex, &past) == ETIMEDOUT);
  pthread_mutex_unlock(&mutex);
}

// A handler may post what the rank waits for. One rank only: handlers are the process's. Not with
// an argument, as with ThreadSanitizer, which has handlers run at the next call that it replaces.
static sem_t from_handler;
static void post(int number) {
  (void)number;
  sem_post(&from_handler);
}
static void check_handler(void) {
  if (rank != 0) return;
  sem_init(&from_handler, 0, 0);
  signal(SIGALRM, post);
  alarm(1);
  int error;
  while ((error = sem_wait(&from_handler)) != 0 && errno == EINTR) {
  }
  CHECK(error == 0);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sem_init(&go, 0, 0);
  sem_init(&done, 0, 0);
  pthread_barrier_init(&both, NULL, 2);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, communicate, NULL) == 0);
  check_semaphores();
  check_conditions();
  for (int round = 0; round < ROUNDS / 10; ++round) pthread_barrier_wait(&both);
  pthread_join(thread, NULL);
  if (argc == 1) check_handler();
  return finish();
}
