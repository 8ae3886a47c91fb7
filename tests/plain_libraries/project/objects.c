#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "parts.h"

__thread int objects_local = 11;

int check_objects(int argc, char** argv) {
  static const struct option options[] = {{"name", required_argument, NULL, 'N'},
                                          {NULL, 0, NULL, 0}};
  char* own[] = {argv[0], "--name=value", "more", NULL};
  (void)argc;
  optind = 0;
  const int found = getopt_long(3, own, "", options, NULL);
  fprintf(stderr, "objects see %s\n", optarg);
  return found == 'N' && strcmp(optarg, "value") == 0 && optind == 2 &&
                 objects_local == 11
             ? 0
             : __LINE__;
}
