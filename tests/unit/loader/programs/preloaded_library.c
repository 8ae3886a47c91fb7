// Comes before the program's libraries, as a profiling library would.
#include "test_api.h"
#include "user_library.h"

static int calls;
int overridden(void) { return 100 + ++calls; }
