// A signal ends the call in which its rank waits, and its handler runs where the rank runs: ranks in
// turn, as each uses the timer of the process.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host_api.h"

static volatile sig_atomic_t seen;
static void on_alarm(int signal) { seen += signal == SIGALRM; }

static sigjmp_buf out_of_here;
static void leave(int signal) {
  (void)signal;
  siglongjmp(out_of_here, 1);
}

// Again and again: the first one may come before the call that it is to end.
static void every_ms(int ms) {
  const struct itimerval time = {{0, ms * 1000}, {0, ms * 1000}};
  CHECK_THAT(setitimer(ITIMER_REAL, &time, NULL) == 0);
}

static void handle(void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  CHECK_THAT(sigaction(SIGALRM, &action, NULL) == 0);
}

static int lock_file(const char* folder, const char* name, int command) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  CHECK_THAT(fd >= 0);
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  const int result = fcntl(fd, command, &lock);
  const int error = errno;
  if (result == 0) return fd;
  close(fd);
  errno = error;
  return -1;
}

static void check_kernel_calls(void) {
  const time_t begin = time(NULL);
  char byte;
  int ends[2];
  CHECK_THAT(pipe(ends) == 0);
  struct pollfd nothing = {.fd = ends[0], .events = POLLIN};
  const struct timespec long_time = {100, 0};
  every_ms(10);
  CHECK_THAT(pause() == -1 && errno == EINTR);
  CHECK_THAT(nanosleep(&long_time, NULL) == -1 && errno == EINTR);
  CHECK_THAT(sleep(100) != 0);
  CHECK_THAT(poll(&nothing, 1, -1) == -1 && errno == EINTR);
  CHECK_THAT(read(ends[0], &byte, 1) == -1 && errno == EINTR);
  every_ms(0);
  CHECK_THAT(seen >= 5 && time(NULL) - begin < 60);
  close(ends[0]);
  close(ends[1]);
}

// Calls that wait without the kernel.
static void check_own_calls(const char* folder) {
  sem_t never;
  CHECK_THAT(sem_init(&never, 0, 0) == 0);
  every_ms(10);
  CHECK_THAT(sem_wait(&never) == -1 && errno == EINTR);
  every_ms(0);
  int ready[2], go[2];
  CHECK_THAT(pipe(ready) == 0 && pipe(go) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    close(go[1]);
    const int is_mine = lock_file(folder, "held", F_SETLKW) >= 0;
    if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) < 0) _exit(2);
    _exit(!is_mine);
  }
  char byte;
  CHECK_THAT(child > 0 && read(ready[0], &byte, 1) == 1);
  every_ms(10);
  CHECK_THAT(lock_file(folder, "held", F_SETLKW) == -1 && errno == EINTR);
  every_ms(0);
  close(go[1]);
  int status = -1;
  CHECK_THAT(waitpid(child, &status, 0) == child && status == 0);
  close(go[0]);
  close(ready[0]);
  close(ready[1]);
}

// With SA_RESTART the call goes on.
static void check_restart(void) {
  handle(on_alarm, SA_RESTART);
  seen = 0;
  int ends[2];
  CHECK_THAT(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    usleep(60000);
    _exit(write(ends[1], "x", 1) != 1);
  }
  char byte = 0;
  every_ms(10);
  CHECK_THAT(read(ends[0], &byte, 1) == 1 && byte == 'x' && seen > 0);
  every_ms(0);
  int status = -1;
  CHECK_THAT(waitpid(child, &status, 0) == child && status == 0);
  close(ends[0]);
  close(ends[1]);
}

// Out of a computation, and of a call.
static void check_jumps(void) {
  handle(leave, 0);
  volatile unsigned long turns = 0;
  if (sigsetjmp(out_of_here, 1) == 0) {
    every_ms(10);
    for (;;) ++turns;
  }
  every_ms(0);
  CHECK_THAT(turns > 0);
  if (sigsetjmp(out_of_here, 1) == 0) {
    every_ms(10);
    for (;;) sleep(100);
  }
  every_ms(0);
}

int main(int argc, char** argv) {
  if (argc != 2) return 99;
  for (int i = 0; i < test_rank() % 3; ++i) test_yield();
  const int turn = lock_file(argv[1], "turn", F_SETLKW);
  CHECK_THAT(turn >= 0);
  handle(on_alarm, 0);
  check_kernel_calls();
  check_own_calls(argv[1]);
  check_restart();
  check_jumps();
  CHECK_THAT(signal(SIGALRM, SIG_DFL) == leave);
  close(turn);
  return check_failures;
}
