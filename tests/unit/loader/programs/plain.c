// Built without mpcc in several ways: what the loader must refuse.
#include <stdio.h>
#ifdef WITH_TLS
_Thread_local int thread_variable = 1;
#endif
int main(void) {
#ifdef WITH_COPY
  if (stdout == NULL) return 1;
#endif
#ifdef WITH_TLS
  return thread_variable - 1;
#endif
  return 0;
}
