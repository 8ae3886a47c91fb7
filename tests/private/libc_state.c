// Libc's per-process state: the ranks do not see each other's.
#define _GNU_SOURCE
#include <getopt.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host_api.h"

extern char** environ;

static void check_environment(void) {
  char text[32];
  snprintf(text, sizeof text, "%d", test_rank());
  CHECK_THAT(getenv("MPC_TEST_RANK") == NULL);
  setenv("MPC_TEST_RANK", text, 1);
  for (int i = 0; i < 50; ++i) {
    test_yield();
    CHECK_THAT(!strcmp(getenv("MPC_TEST_RANK"), text));
  }
  int found = 0;
  for (char** entry = environ; *entry != NULL; ++entry)
    found += !strncmp(*entry, "MPC_TEST_RANK=", 14);
  CHECK_THAT(found == 1);
  unsetenv("MPC_TEST_RANK");
  CHECK_THAT(getenv("MPC_TEST_RANK") == NULL);
}

static void check_random(void) {
  srand(1 + (unsigned)test_rank());
  srand48(test_rank());
  const int first = rand();
  const double first48 = drand48();
  for (int i = 0; i < 50; ++i) {
    srand(1 + (unsigned)test_rank());
    srand48(test_rank());
    test_yield();
    CHECK_THAT(rand() == first && drand48() == first48);
  }
}

static void check_text_and_time(void) {
  char words[] = "a,b,c,d";
  int count = 0;
  for (char* word = strtok(words, ","); word != NULL; word = strtok(NULL, ",")) {
    ++count;
    test_yield();
  }
  CHECK_THAT(count == 4);
  const time_t when = 86400 * (time_t)test_rank();
  const struct tm* time = gmtime(&when);
  test_yield();
  CHECK_THAT(time->tm_mday == 1 + test_rank() % 31 || test_rank() >= 31);
}

static void check_options(int argc, char** argv) {
  int seen = 0;
  for (int c; (c = getopt(argc, argv, "ab:")) != -1; test_yield()) {
    ++seen;
    if (c == 'b') CHECK_THAT(!strcmp(optarg, "value"));
  }
  CHECK_THAT(seen == 3 && optind == 5 && !strcmp(argv[optind], "rest"));
}

static void* in_thread(void* argument) {
  CHECK_THAT(test_rank() == *(int*)argument);
  CHECK_THAT(!strcmp(getenv("MPC_TEST_THREAD"), "yes"));
  return argument;
}

int main(int argc, char** argv) {
  check_options(argc, argv);
  check_environment();
  check_random();
  check_text_and_time();
  int rank = test_rank();
  setenv("MPC_TEST_THREAD", "yes", 1);
  pthread_t thread;
  CHECK_THAT(pthread_create(&thread, NULL, in_thread, &rank) == 0);
  pthread_join(thread, NULL);
  return check_failures;
}
