// Prints what libc's stateful functions return: a rank must print what a process does.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char** environ;

static void print_random(void) {
  for (int i = 0; i < 100; ++i) printf("%d ", rand());
  for (int i = 0; i < 100; ++i) printf("%ld ", random());
  srand(7);
  printf("%d ", rand());
  srandom(99);
  printf("%ld\n", random());
  for (size_t size = 8; size <= 256; size *= 2) {
    static char states[6][256];
    static int next;
    char* old = initstate(5, states[next++], size);
    printf("%ld %ld ", random(), random());
    setstate(old);
    printf("%ld\n", random());
  }
}

static void print_random48(void) {
  printf("%.17g ", drand48());
  printf("%ld ", lrand48());
  printf("%ld ", mrand48());
  srand48(3);
  printf("%.17g\n", drand48());
  unsigned short x[3] = {1, 2, 3};
  printf("%.17g ", erand48(x));
  printf("%ld ", nrand48(x));
  printf("%ld\n", jrand48(x));
  const unsigned short* old = seed48(x);
  printf("%d %d %d %.17g\n", old[0], old[1], old[2], drand48());
  unsigned short parameters[7] = {1, 2, 3, 4, 5, 6, 7};
  lcong48(parameters);
  printf("%.17g\n", drand48());
}

static void print_time(void) {
  const time_t when = 1234567890;
  const struct tm* a = gmtime(&when);
  const struct tm* b = localtime(&when);
  printf("%d %s", a == b, asctime(a));
  printf("%s", ctime(&when));
  const struct tm strange = {
      .tm_wday = 9, .tm_mon = 77, .tm_year = 12345, .tm_mday = -5};
  printf("%s", asctime(&strange));
}

static void print_environment(void) {
  clearenv();
  printf("%p\n", (void*)getenv("A"));
  setenv("A", "1", 1);
  setenv("B", "2", 1);
  setenv("A", "3", 0);
  static char text[] = "C=4";
  putenv(text);
  unsetenv("B");
  setenv("A", "9", 1);
  setenv("D", "", 1);
  for (char** entry = environ; entry != NULL && *entry != NULL; ++entry) puts(*entry);
  text[2] = '5';
  printf("%s %d %d %d\n", getenv("C"), setenv("x=y", "1", 1), setenv("", "1", 1),
         unsetenv("="));
  putenv("A");
  printf("%p %s|\n", (void*)getenv("A"), getenv("D"));
  static char* own[] = {"OWN=1", NULL};
  environ = own;
  setenv("MORE", "2", 1);
  for (char** entry = environ; *entry != NULL; ++entry) puts(*entry);
}

int main(void) {
  print_random();
  print_random48();
  print_time();
  print_environment();
  return 0;
}
