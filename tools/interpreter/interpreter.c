// The program of a rank whose command line names an interpreter: calls that one's library.
//
// mpcrun loads it in place of python3 or tclsh, with the interpreter's library preloaded, so that each rank has a copy
// of that. It is linked with none: the same file serves all versions. See runtime/job/interpreter.h.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

typedef int (*Main)(int argc, char** argv);

int main(int argc, char** argv) {
  const Main python = (Main)dlsym(RTLD_DEFAULT, "Py_BytesMain");
  if (python != NULL) return python(argc, argv);
  fprintf(stderr, "%s: no interpreter's library was loaded with it: mpcrun does that\n",
          argv[0]);
  return 126;
}
