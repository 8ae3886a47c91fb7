// sigwait() and its kin for signals that the main thread has blocked: in a thread beside it, and in itself. Signals of the
// timers of all ranks.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "host_api.h"

static void set_of(sigset_t* set, int first, int second) {
  sigemptyset(set);
  sigaddset(set, first);
  sigaddset(set, second);
}

static void* wait_in_thread(void* seen) {
  sigset_t set;
  set_of(&set, SIGUSR1, SIGALRM);
  sigwait(&set, seen);
  return NULL;
}

static void check_thread(int signal) {
  int seen = 0;
  pthread_t thread;
  CHECK_THAT(pthread_create(&thread, NULL, wait_in_thread, &seen) == 0);
  usleep(100000);
  if (signal == SIGALRM) {
    const struct itimerval soon = {{0, 0}, {0, 50000}};
    CHECK_THAT(setitimer(ITIMER_REAL, &soon, NULL) == 0);
  } else {
    CHECK_THAT(kill(getpid(), signal) == 0);
  }
  pthread_join(thread, NULL);
  CHECK_THAT(seen == signal);
}

static void check_main(void) {
  const struct timespec at_once = {0, 0}, long_enough = {20, 0};
  sigset_t set;
  siginfo_t info;
  set_of(&set, SIGUSR1, SIGRTMIN + 2);
  CHECK_THAT(sigtimedwait(&set, NULL, &at_once) == -1 && errno == EAGAIN);
  CHECK_THAT(raise(SIGUSR1) == 0);
  CHECK_THAT(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_signo == SIGUSR1);
  CHECK_THAT(info.si_errno == 0);
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN + 2;
  event.sigev_value.sival_int = 77;
  timer_t timer;
  CHECK_THAT(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const struct itimerspec soon = {{0, 0}, {0, 50000000}};
  CHECK_THAT(timer_settime(timer, 0, &soon, NULL) == 0);
  CHECK_THAT(sigtimedwait(&set, &info, &long_enough) == SIGRTMIN + 2);
  CHECK_THAT(info.si_code == SI_TIMER && info.si_errno == 0);
  CHECK_THAT(timer_delete(timer) == 0);
}

static volatile int own_ticks, other_ticks;

static void on_tick(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  if (info->si_value.sival_int == 100 + test_rank())
    ++own_ticks;
  else
    ++other_ticks;
}

// Each rank has one at the same time, for the same signal.
static void check_own_timer(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_tick;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  CHECK_THAT(sigaction(SIGRTMIN + 3, &action, NULL) == 0);
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN + 3;
  event.sigev_value.sival_int = 100 + test_rank();
  timer_t timer;
  CHECK_THAT(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const struct itimerspec often = {{0, 5000000}, {0, 5000000}};
  CHECK_THAT(timer_settime(timer, 0, &often, NULL) == 0);
  for (int i = 0; i < 4000 && own_ticks < 3; ++i) usleep(5000);
  CHECK_THAT(own_ticks >= 3 && other_ticks == 0);
  // Not deleted by the odd ones: it ends with its rank.
  if (test_rank() % 2 == 0) CHECK_THAT(timer_delete(timer) == 0);
}

int main(void) {
  check_own_timer();
  sigset_t all;
  set_of(&all, SIGUSR1, SIGALRM);
  sigaddset(&all, SIGRTMIN + 2);
  CHECK_THAT(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
  // One rank after the other: the process has one timer, and who has blocked a signal last gets it.
  if (test_rank() == 0) {
    for (int i = 0; i < 3; ++i) check_thread(SIGUSR1);
    check_thread(SIGALRM);
    check_main();
  }
  return check_failures;
}
