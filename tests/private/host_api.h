#pragma once
// For the programs under test; implemented by host_api.cpp.
#ifdef __cplusplus
extern "C" {
#endif
int test_rank(void);
void test_yield(
    void);  // other ranks of the worker run, perhaps on another core afterwards
#ifdef __cplusplus
}
#endif

#include <stdio.h>
static int check_failures;
#define CHECK_THAT(condition)                                                  \
  do {                                                                         \
    if (!(condition)) {                                                        \
      ++check_failures;                                                        \
      fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, test_rank(), \
              #condition);                                                     \
    }                                                                          \
  } while (0)
