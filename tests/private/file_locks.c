// fcntl() and lockf() locks of a rank: others are kept out, its own descriptors share them.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_api.h"

static int do_lock(int fd, int command, int type, off_t start, off_t length) {
  struct flock lock = {
      .l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
  return fcntl(fd, command, &lock);
}

static int open_named(const char* folder, const char* name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  CHECK_THAT(fd >= 0);
  return fd;
}

// Nobody else writes between our write and our read, whoever runs meanwhile.
static void check_exclusion(int fd) {
  for (int i = 0; i < 20; ++i) {
    const int own = test_rank() * 100 + i;
    int seen = -1;
    if (i % 2 == 0) {
      CHECK_THAT(do_lock(fd, F_SETLKW, F_WRLCK, 0, 0) == 0);
    } else {
      CHECK_THAT(lseek(fd, 0, SEEK_SET) == 0 && lockf(fd, F_LOCK, 0) == 0);
    }
    CHECK_THAT(pwrite(fd, &own, sizeof own, 0) == sizeof own);
    for (int k = 0; k < 3; ++k) test_yield();
    CHECK_THAT(pread(fd, &seen, sizeof seen, 0) == sizeof seen && seen == own);
    CHECK_THAT(do_lock(fd, F_SETLK, F_UNLCK, 0, 0) == 0);
  }
}

// Two descriptors of one file: one owner, as in a process; closing one drops the locks.
static void check_own_descriptors(const char* folder) {
  char name[32];
  snprintf(name, sizeof name, "own.%d", test_rank());
  const int first = open_named(folder, name);
  const int second = open_named(folder, name);
  CHECK_THAT(do_lock(first, F_SETLK, F_WRLCK, 0, 10) == 0);
  CHECK_THAT(do_lock(second, F_SETLK, F_WRLCK, 0, 10) == 0);
  CHECK_THAT(do_lock(second, F_SETLK, F_RDLCK, 5, 5) == 0);
  struct flock query = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  CHECK_THAT(fcntl(first, F_GETLK, &query) == 0 && query.l_type == F_UNLCK);
  // A child is another process: it sees both locks, and the parent as their owner.
  const pid_t child = fork();
  if (child == 0) {
    struct flock q = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 1};
    const int is_seen = fcntl(first, F_GETLK, &q) == 0 && q.l_type == F_RDLCK;
    _exit(is_seen && do_lock(second, F_SETLK, F_WRLCK, 0, 1) != 0 ? 7 : 8);
  }
  int status = 0;
  CHECK_THAT(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  CHECK_THAT(close(second) == 0);
  const pid_t second_child = fork();
  if (second_child == 0) _exit(do_lock(first, F_SETLK, F_WRLCK, 0, 0) == 0 ? 7 : 8);
  CHECK_THAT(waitpid(second_child, &status, 0) == second_child &&
             WEXITSTATUS(status) == 7);
  CHECK_THAT(close(first) == 0);
}

static void check_errors(int fd) {
  errno = 0;
  CHECK_THAT(do_lock(fd, F_SETLK, 77, 0, 0) == -1 && errno == EINVAL);
  CHECK_THAT(do_lock(fd, F_SETLK, F_WRLCK, -5, 0) == -1 && errno == EINVAL);
  CHECK_THAT(do_lock(-1, F_SETLK, F_WRLCK, 0, 0) == -1 && errno == EBADF);
  const int reader = open("/proc/self/fd/0", O_RDONLY);
  if (reader >= 0) {
    CHECK_THAT(do_lock(reader, F_SETLK, F_WRLCK, 0, 0) == -1 && errno == EBADF);
    close(reader);
  }
}

// Rank 0 has A and wants B, rank 1 has B and wants A: one of them gets EDEADLK.
static void check_circle(const char* folder) {
  if (test_rank() > 1) return;
  const int fd = open_named(folder, "circle");
  const int own = test_rank(), other = 1 - own;
  if (do_lock(fd, F_SETLKW, F_WRLCK, own, 1) == 0) {
    char flag = 1;
    CHECK_THAT(pwrite(fd, &flag, 1, 10 + own) == 1);
    for (flag = 0; flag == 0; test_yield())
      if (pread(fd, &flag, 1, 10 + other) != 1) flag = 0;
    const int result = do_lock(fd, F_SETLKW, F_WRLCK, other, 1);
    CHECK_THAT(result == 0 || errno == EDEADLK);
    flag = result == 0 ? 1 : 2;
    CHECK_THAT(pwrite(fd, &flag, 1, 20 + own) == 1);
    CHECK_THAT(do_lock(fd, F_SETLK, F_UNLCK, 0, 0) == 0);
    for (flag = 0; flag == 0; test_yield())
      if (pread(fd, &flag, 1, 20 + other) != 1) flag = 0;
    CHECK_THAT((result == 0) == (flag == 2));
  }
  close(fd);
}

int main(int argc, char** argv) {
  (void)argc;
  const int fd = open_named(argv[1], "shared");
  check_exclusion(fd);
  check_own_descriptors(argv[1]);
  check_errors(fd);
  if (argc > 2) check_circle(argv[1]);
  return check_failures;
}
