#pragma once
// Paths: where the parts of this installation lie.
//
// Role:      finds the files that mpcrun needs: beside itself and beside libmpi_abi.
// Users:     tools/mpcrun.
// Threads:   any.

#include <string>

namespace mpc::tools {

// The file from which an address was loaded; "": none.
std::string file_of(const void* address);
// The folder of libmpi_abi, and `name` behind it: "/mpc/libmpc_heap.so".
std::string beside_library(const char* name);
// The path of mpcrun; "": there is no /proc.
std::string own_path();

}  // namespace mpc::tools
