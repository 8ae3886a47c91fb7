// What first.c needs: found beside it, by its $ORIGIN.
void host_note(const char*);
int base_value = 5;
int base_next(void) { return ++base_value; }
__thread int base_thread = 30;
// The opened library comes first in its scope.
int overridden(void) { return 1; }
int ask_overridden(void) { return overridden(); }
__attribute__((constructor)) static void begin(void) { host_note("base+ "); }
__attribute__((destructor)) static void end(void) { host_note("base- "); }
