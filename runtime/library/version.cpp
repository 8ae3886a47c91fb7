// The one source file of libmpi_abi.so itself; everything else comes from the layers.

// Version of the library, for mpcinfo and bug reports.
extern "C" __attribute__((visibility("default"))) const char* mpc_version() {
  return MPC_VERSION_TEXT;
}
