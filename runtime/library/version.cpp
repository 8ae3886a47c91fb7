// The one source file of libmpi_abi.so itself; everything else comes from the layers.

// For gdb's commands (tools/gdb), which cannot call a function in a core file.
// NOLINTBEGIN(readability-identifier-naming): a name for others
extern "C" const char mpc_version_text[];
extern "C" const char mpc_version_text[] = MPC_VERSION_TEXT;
// NOLINTEND(readability-identifier-naming)

// Version of the library, for mpcinfo and bug reports.
extern "C" __attribute__((visibility("default"))) const char* mpc_version() {
  return mpc_version_text;
}
