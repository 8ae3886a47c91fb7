#pragma once
// The modules mpi and mpi_f08 for a Fortran compiler other than the one of the installation.
//
// Role:      module files fit one compiler only, often one version of it. mpcfort -build-modules
//            compiles the sources, and finds the result when it is called for that compiler.
// Users:     tools/mpcc/mpcc.cpp.
// Threads:   one.
// See also:  docs/fortran.md.

#include <string>
#include <vector>

namespace mpcc {

// Where the modules of this compiler lie unless the user has chosen another folder.
std::string modules_directory(const std::string& parts, const std::string& compiler);

// Compiles the sources of `include` in the folder `directory`, which is created if necessary.
// `compiler` is the command's first words. Returns the exit status.
int build_modules(const std::vector<std::string>& compiler, const std::string& include,
                  const std::string& directory);

}  // namespace mpcc
