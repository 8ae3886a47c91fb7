/* A program for the fuzzer of ELF files: one of everything that the loader looks at. */

int zeroed[10];
int* pointer = &zeroed[3];
_Thread_local int of_thread = 7;
_Thread_local int* pointer_of_thread = zeroed;
extern int missing __attribute__((weak));
int* to_missing = &missing;

static int one(void) { return 1; }
static int (*choose(void))(void) { return one; }
int chosen(void) __attribute__((ifunc("choose")));

int main(void) { return *pointer + of_thread + *pointer_of_thread + chosen(); }
int __libc_start_main(void) { return main(); }

__attribute__((constructor)) static void begin(void) { zeroed[1] = 1; }
__attribute__((destructor)) static void end(void) { zeroed[1] = 2; }
