#pragma once
/* Counts and names failures; a program returns check_failures. */
#include <stdio.h>

#include "test_api.h"

static int check_failures;
#define CHECK_THAT(condition)                                                  \
  do {                                                                         \
    if (!(condition)) {                                                        \
      ++check_failures;                                                        \
      fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, test_rank(), \
              #condition);                                                     \
    }                                                                          \
  } while (0)
