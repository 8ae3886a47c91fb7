#pragma once
// Program file: the programs of a job in a file, as mpiexec -configfile and mpirun --app have it.
//
// Role:      a line corresponds to the text between two ':' of a command line.
// Users:     tools/mpcrun/options.cpp.
// Threads:   any.
// See also:  MPI-5.0 section 11.5 (form B); docs/switching.md.

#include <string>
#include <vector>

#include "base/result.h"

namespace mpc::tools {

// The words of each program of the file `path`. Lines that begin with '#' are comments, a '\' at the end of a line
// joins it to the next one; quotes and '\' are as a shell's, nothing else is.
// Errors: kArg: the file cannot be read, names no program, or a quote is open: with file and line.
Result<std::vector<std::vector<std::string>>> read_program_file(
    const std::string& path);

}  // namespace mpc::tools
