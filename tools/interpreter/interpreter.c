// The program of a rank whose command line names an interpreter: calls the interpreter's library.
//
// mpcrun loads it in place of python3 or tclsh, with the interpreter's library preloaded, so that
// each rank has a copy of the library. It is linked with none, so one file serves all versions.
// See runtime/job/interpreter.h.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

// Function pointers of the libraries' headers, which are not needed here.
typedef int (*PythonMain)(int argc, char** argv);
typedef void* (*NewInterpreter)(void);
typedef void (*FindExecutable)(const char* argv0);
typedef int (*Initialise)(void* interpreter);
typedef void (*TclMain)(int argc, char** argv, Initialise initialise,
                        void* interpreter);

static void* find(const char* name) { return dlsym(RTLD_DEFAULT, name); }

// Behaves like tclsh; does not return.
static void run_tcl(int argc, char** argv) {
  const TclMain tcl = (TclMain)find("Tcl_MainEx");
  const NewInterpreter create = (NewInterpreter)find("Tcl_CreateInterp");
  const Initialise initialise = (Initialise)find("Tcl_Init");
  const FindExecutable find_executable = (FindExecutable)find("Tcl_FindExecutable");
  if (tcl == NULL || create == NULL || initialise == NULL || find_executable == NULL)
    return;
  find_executable(argv[0]);
  tcl(argc, argv, initialise, create());
}

int main(int argc, char** argv) {
  const PythonMain python = (PythonMain)find("Py_BytesMain");
  if (python != NULL) return python(argc, argv);
  run_tcl(argc, argv);
  fprintf(stderr, "%s: no interpreter's library was loaded with it: mpcrun does that\n",
          argv[0]);
  return 126;
}
