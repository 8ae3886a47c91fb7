#include "parts.h"

int setting_level = 3;
struct setting settings[2] = {{"level", &setting_level}};
const char* setting_names[3];
__thread int setting_local = 1;
int read_level(void) { return setting_level; }
int read_local(void) { return setting_local; }
// Writes to variables that the program may hold.
__attribute__((constructor)) static void make_names(void) {
  setting_names[0] = settings[0].name;
  setting_names[1] = "made";
}
