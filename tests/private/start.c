// What a rank finds at its start: arguments and environment of its own, in the kernel's order.
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "host_api.h"

extern char** environ;
extern char* __progname;

static void check_layout(int argc, char** argv) {
  CHECK_THAT(argv[argc] == NULL);
  CHECK_THAT(environ == argv + argc + 1);
  char* end = argv[0];
  for (int i = 0; i < argc; ++i) {
    CHECK_THAT(argv[i] == end);
    end += strlen(argv[i]) + 1;
  }
  char** entry = environ;
  for (; *entry != NULL; ++entry) {
    CHECK_THAT(*entry == end);
    end += strlen(*entry) + 1;
  }
  // The auxiliary vector follows.
  int has_page_size = 0;
  for (unsigned long* word = (unsigned long*)(entry + 1); word[0] != AT_NULL; word += 2)
    has_page_size |= word[0] == AT_PAGESZ && word[1] == getauxval(AT_PAGESZ);
  CHECK_THAT(has_page_size);
}

static void check_cutting(char* list) {
  int count = 0;
  for (char* word = strtok(list, ","); word != NULL; word = strtok(NULL, ",")) {
    ++count;
    test_yield();
  }
  CHECK_THAT(count == 4);
}

static void check_writing(char* text, char* variable) {
  const char own = (char)('a' + test_rank() % 26);
  memset(text, own, strlen(text));
  memset(variable, own, strlen(variable));
  for (int i = 0; i < 50; ++i) {
    test_yield();
    for (const char* c = text; *c != '\0'; ++c) CHECK_THAT(*c == own);
    for (const char* c = variable; *c != '\0'; ++c) CHECK_THAT(*c == own);
  }
}

static void check_names(char** argv) {
  const char* slash = strrchr(argv[0], '/');
  const char* name = slash != NULL ? slash + 1 : argv[0];
  CHECK_THAT(!strcmp(program_invocation_name, argv[0]));
  CHECK_THAT(!strcmp(program_invocation_short_name, name) && !strcmp(__progname, name));
  static char own[32];
  snprintf(own, sizeof own, "rank%d", test_rank());
  program_invocation_short_name = own;  // as setproctitle and others do
  for (int i = 0; i < 20; ++i) {
    test_yield();
    CHECK_THAT(program_invocation_short_name == own);
  }
}

int main(int argc, char** argv) {
  CHECK_THAT(argc == 3);
  check_layout(argc, argv);
  check_cutting(argv[1]);
  CHECK_THAT(environ[0] != NULL);
  check_writing(argv[2], environ[0]);
  check_names(argv);
  return check_failures;
}
