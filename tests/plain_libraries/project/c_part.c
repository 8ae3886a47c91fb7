#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "parts.h"

extern char** environ;

#define CHECK(what) \
  if (!(what)) return __LINE__

int check_options(int argc, char** argv) {
  int number = 0, verbose = 0;
  optind = 1;
  opterr = 0;
  for (int c; (c = getopt(argc, argv, "vn:")) != -1;) {
    if (c == 'v') ++verbose;
    if (c == 'n') number = atoi(optarg);
    if (c == '?') return __LINE__;
  }
  CHECK(verbose == 1 && number == 42 && optind == 4);
  CHECK(strcmp(argv[optind], "rest") == 0);
  char* wrong[] = {"prog", "-x", NULL};
  optind = 1;
  CHECK(getopt(2, wrong, "vn:") == '?' && optopt == 'x');
  CHECK(strstr(argv[0], program_invocation_short_name) != NULL);
  CHECK(strcmp(program_invocation_name, argv[0]) == 0);
  return 0;
}

static const char* in_environ(const char* name) {
  const size_t length = strlen(name);
  for (char** e = environ; *e != NULL; ++e)
    if (strncmp(*e, name, length) == 0 && (*e)[length] == '=') return *e + length + 1;
  return NULL;
}

int check_environment(int number) {
  char text[32];
  CHECK(in_environ("PATH") != NULL && strcmp(in_environ("PATH"), getenv("PATH")) == 0);
  snprintf(text, sizeof text, "%d", number);
  setenv("PLAIN_NUMBER", text, 1);
  usleep(20000);  // others set theirs
  CHECK(strcmp(getenv("PLAIN_NUMBER"), text) == 0);
  CHECK(in_environ("PLAIN_NUMBER") != NULL);
  CHECK(strcmp(in_environ("PLAIN_NUMBER"), text) == 0);
  char* own[] = {"ONLY=this", NULL};
  char** before = environ;
  environ = own;
  CHECK(getenv("PATH") == NULL && strcmp(getenv("ONLY"), "this") == 0);
  environ = before;
  setenv("TZ", number % 2 ? "XYZ-3" : "ABC+5", 1);
  tzset();
  usleep(20000);
  CHECK(timezone == (number % 2 ? -3 * 3600 : 5 * 3600));
  CHECK(strcmp(tzname[0], number % 2 ? "XYZ" : "ABC") == 0);
  return 0;
}

int check_streams(int number) {
  static FILE** const kinds[] = {&stdin, &stdout, &stderr};
  CHECK(*kinds[0] == stdin && *kinds[1] == stdout && *kinds[2] == stderr);
  CHECK(fileno(stdout) == 1 && fileno(stderr) == 2 && fileno(stdin) == 0);
  fprintf(stderr, "error of %d\n", number);
  fprintf(stdout, "output of %d\n", number);
  fputs("half ", stdout);
  usleep(1000);
  printf("line of %d\n", number);
  setvbuf(stdout, NULL, _IOLBF, 0);
  putc('p', stdout);
  puts("ut");
  return fflush(stdout) == 0 ? 0 : __LINE__;
}

__thread int inner_local = 5;
static __thread char zero[100];
static int target = 7;
static __thread int* pointer = &target;  // each rank's own

static void* in_thread(void* result) {
  *(int*)result = inner_local == 5 && zero[50] == 0 && pointer == &target &&
                  *pointer >= 7 && objects_local == 11;
  inner_local = 1000;
  return NULL;
}

int check_thread_locals(int number) {
  CHECK(inner_local == 5 && zero[50] == 0 && pointer == &target && *pointer == 7);
  CHECK(errno == 0 || errno != 0);
  inner_local += number;
  zero[50] = (char)number;
  *pointer += number;
  usleep(10000);
  int is_right = 0;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, in_thread, &is_right) == 0);
  pthread_join(thread, NULL);
  CHECK(is_right);
  CHECK(inner_local == 5 + number && zero[50] == (char)number && target == 7 + number);
  return 0;
}
