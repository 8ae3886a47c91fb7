// Random command lines through the getopt family; prints every answer. Run directly it shows
// what libc does, under mpcrun what the ranks' own version does: the outputs must be equal.
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long state = 88172645463325252ULL;
static unsigned draw(unsigned below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 20) % below;
}

static int flag;
static const struct option kLong[] = {{"add", no_argument, 0, 'a'},
                                      {"append", no_argument, 0, 'A'},
                                      {"create", required_argument, 0, 'c'},
                                      {"delete", optional_argument, 0, 'd'},
                                      {"verbose", no_argument, &flag, 7},
                                      {"same-one", no_argument, 0, 's'},
                                      {"same-two", no_argument, 0, 's'},
                                      {"x", no_argument, 0, 1000},
                                      {0, 0, 0, 0}};
static const char* const kWords[] = {
    "-a",         "-b",        "-c",         "-cvalue", "-ab",      "-abc",
    "-d",         "-dvalue",   "-x",         "-:",      "-;",       "--",
    "-",          "word",      "other",      "",        "--add",    "--ap",
    "--a",        "--create",  "--create=1", "--cr",    "--delete", "--delete=2",
    "--delete=",  "--verbose", "--verb=1",   "--same",  "--same-",  "--nothing",
    "--x",        "-verbose",  "-create",    "-add",    "-W",       "-Wadd",
    "-Wcreate=3", "-We",       "-a-",        "--=5",    "-zz"};
static const char* const kRules[] = {"abc:d::",   "+abc:d::",  "-abc:d::",  ":abc:d::",
                                     "+:abc:d::", "-:abc:d::", "abc:d::W;", "",
                                     "a",         ":W;a",      "x::abd"};

static void run_case(int number) {
  const int words = (int)draw(7);
  char* argv[16] = {"prog"};
  char text[16][32];
  int argc = 1;
  for (; argc <= words; ++argc) {
    strcpy(text[argc], kWords[draw(sizeof kWords / sizeof *kWords)]);
    argv[argc] = text[argc];
  }
  argv[argc] = NULL;
  const char* rule = kRules[draw(sizeof kRules / sizeof *kRules)];
  const unsigned kind = draw(3);
  opterr = draw(8) != 0;
  optind =
      (int)draw(4) == 0 ? 1 : 0;  // a scan begins anew with either, if all was read
  if (optind == 1) {
    char* none[] = {"prog", NULL};
    getopt(1, none, rule);
    optind = 0;
  }
  printf("case %d: kind %u rule '%s':", number, kind, rule);
  for (int i = 1; i < argc; ++i) printf(" '%s'", argv[i]);
  printf("\n");
  fflush(stdout);
  const int limit = draw(10) == 0 ? 2 : 100;
  for (int i = 0; i < limit; ++i) {
    int index = -7;
    const int c = kind == 0   ? getopt(argc, argv, rule)
                  : kind == 1 ? getopt_long(argc, argv, rule, kLong, &index)
                              : getopt_long_only(argc, argv, rule, kLong, &index);
    fflush(stderr);
    printf("  %d index %d optind %d optarg %s optopt %d flag %d\n", c, index, optind,
           optarg ? optarg : "(null)", optopt, flag);
    fflush(stdout);
    if (c == -1) break;
  }
  printf("  left:");
  for (int i = 0; i < argc; ++i) printf(" '%s'", argv[i]);
  printf("\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc > 1) state ^= strtoull(argv[1], NULL, 0) * 2654435761ULL;
  for (int i = 0; i < 3000; ++i) run_case(i);
  return 0;
}
