#include "test_api.h"

#include <pthread.h>
#include <string.h>

enum { kRanks = 256, kBytes = 256 };
static __thread int rank;
static char traces[kRanks][kBytes];
static void (*exit_function)(int);

int test_rank(void) { return rank; }
void test_set_rank(int value) { rank = value; }
void test_trace(const char* word) {
  if (rank < 0 || rank >= kRanks) return;
  strncat(traces[rank], word, kBytes - strlen(traces[rank]) - 2);
  strcat(traces[rank], " ");
}
const char* test_get_trace(int of_rank) { return traces[of_rank]; }
void test_clear_traces(void) { memset(traces, 0, sizeof traces); }
void test_set_exit(void (*function)(int)) { exit_function = function; }
void test_exit(int status) { exit_function(status); }
