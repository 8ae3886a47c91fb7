#include "test_api.h"
#include "user_library.h"

static int sum = 1000;
__attribute__((constructor)) static void start(void) { test_trace("second+"); }
__attribute__((destructor)) static void end(void) { test_trace("second-"); }
int second_add(int value) { return sum += value; }
int overridden(void) { return 1; }
