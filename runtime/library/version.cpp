// The one source file of libmpi_abi.so itself; everything else comes from the layers.

// For gdb's commands (tools/gdb), which cannot call a function in a core file.
extern "C" const char mpc_version_text[];
extern "C" const char mpc_version_text[] = MPC_VERSION_TEXT;

// Version of the library, for mpcinfo and bug reports.
extern "C" __attribute__((visibility("default"))) const char* mpc_version() {
  return mpc_version_text;
}
