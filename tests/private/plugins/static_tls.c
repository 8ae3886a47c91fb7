// The place in static TLS is fixed when the library is opened (initial-exec), or found without
// __tls_get_addr() (by descriptors).
#ifdef BY_DESCRIPTOR
#define MODEL
#else
#define MODEL __attribute__((tls_model("initial-exec")))
#endif
int target = 4;
__thread int* place MODEL = &target;
__thread int number MODEL = 9;
int static_next(void) { return ++number + (place == &target ? 0 : 1000); }
