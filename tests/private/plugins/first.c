// Data of all kinds, thread_locals, hooks, symbols of the program and of another library.
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

extern int host_counter;
void host_note(const char*);
extern int base_value;
extern __thread int base_thread;
int base_next(void);

int value = 7;
int zeroes[40000];
static int* pointer = &value;
int* exported_pointer = &value;
static int (*function_pointer)(void) = base_next;

__thread int counter_thread = 3;
__thread int* pointer_thread = &value;
static __thread int* hidden_pointer_thread = zeroes + 10;

int overridden(void) { return 2; }
int plugin_value(void) { return value + *pointer + *exported_pointer; }
void plugin_set(int v) { value = v; }
int plugin_zero(int i) { return zeroes[i]++; }
int plugin_host(void) { return ++host_counter; }
int plugin_base(void) { return function_pointer() + base_value; }
int* plugin_thread_pointer(void) { return pointer_thread; }
int* plugin_hidden_thread_pointer(void) { return hidden_pointer_thread; }
int plugin_thread_next(void) { return ++counter_thread; }
int plugin_base_thread_next(void) { return ++base_thread; }
const char* plugin_environment(const char* name) { return getenv(name); }
char** plugin_environ(void) { return environ; }

// Defined by libc, too, which is in the global scope before us.
int toascii(int c) { return c + 1000; }
int plugin_toascii(int c) { return toascii(c); }

static int arguments;
int plugin_arguments(void) { return arguments; }
static void at_end(void) { host_note("atexit- "); }
__attribute__((constructor)) static void begin(int argc, char** argv) {
  arguments = argv != NULL && argv[argc] == NULL ? argc : -1;
  host_note("first+ ");
  atexit(at_end);
}
__attribute__((destructor)) static void end(void) { host_note("first- "); }
