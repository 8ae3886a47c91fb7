// Opens another library in its constructor.
#include <dlfcn.h>
#include <stddef.h>
void host_note(const char*);
static void* handle;
int nested_works(void) {
  int (*next)(void) =
      handle != NULL ? (int (*)(void))dlsym(handle, "giver_opened") : NULL;
  return next != NULL && next() == 1;
}
__attribute__((constructor)) static void begin(void) {
  handle = dlopen("libplugin_giver.so", RTLD_NOW);  // beside it, by its own RUNPATH
  host_note(handle != NULL ? "nested+ " : "nested? ");
}
__attribute__((destructor)) static void end(void) {
  if (handle != NULL) dlclose(handle);
  host_note("nested- ");
}
