// chdir() and umask() of a rank, and of the threads that it starts afterwards. argv[1]: a folder.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_api.h"

static char own[64], expected[512];

static void check_here(void) {
  char here[512];
  CHECK_THAT(getcwd(here, sizeof here) != NULL && !strcmp(here, expected));
  CHECK_THAT(access("mark", F_OK) == 0);
}

static void* in_thread(void* argument) {
  for (int i = 0; i < 20; ++i) {
    test_yield();
    check_here();
  }
  return argument;
}

int main(int argc, char** argv) {
  char* base = argc > 1 ? realpath(argv[1], NULL) : NULL;
  CHECK_THAT(base != NULL && chdir(base) == 0);
  snprintf(own, sizeof own, "rank%d", test_rank());
  snprintf(expected, sizeof expected, "%s/%s", base, own);
  const mode_t mask = test_rank() % 2 ? 077 : 022;
  CHECK_THAT(mkdir(own, 0755) == 0);
  test_yield();
  CHECK_THAT(chdir(own) == 0);
  umask(mask);
  close(open("mark", O_CREAT | O_WRONLY, 0644));
  pthread_t thread;
  CHECK_THAT(pthread_create(&thread, NULL, in_thread, NULL) == 0);
  for (int i = 0; i < 50; ++i) {
    test_yield();
    check_here();
  }
  pthread_join(thread, NULL);
  struct stat status;
  close(open("file", O_CREAT | O_WRONLY, 0666));
  CHECK_THAT(stat("file", &status) == 0 && (status.st_mode & 0777) == (0666 & ~mask));
  char command[600];
  snprintf(command, sizeof command, "test \"$(pwd)\" = %s", expected);
  CHECK_THAT(system(command) == 0);
  return check_failures;
}
