#pragma once
// Preload: libraries of LD_PRELOAD that use MPI, so that each rank can have its own copy of them.
//
// Role:      distinguishes a library that wraps MPI functions from one that replaces malloc, say.
//            The
//            dynamic linker would load both once for all ranks, with one set of globals.
// Users:     tools/mpcrun, before it executes itself again.
// Threads:   the main thread.
// See also:  runtime/loader/image.h (ImageOptions::preload).

#include <string>
#include <vector>

namespace mpc::tools {

struct Preload {
  std::vector<std::string> own;  // paths of libraries that need libmpi_abi
  std::string rest;              // of the list, in the form of LD_PRELOAD
};

// Splits the value of LD_PRELOAD. Caller: a process in which the dynamic linker has loaded them.
Preload split_preload(const std::string& list);

}  // namespace mpc::tools
