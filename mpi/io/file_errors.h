#pragma once
// File errors: errors of the system's file calls as MPI errors.
//
// Role:      maps errno to an error class, and adds the file's name and the system's text.
// Users:     mpi/io.
// Threads:   any execution of the rank.
// See also:  MPI-4.1 table 14.6; docs/files.md, "Errors".

#include <string_view>

#include "mpi/objects/error.h"

namespace mpc::mpi {

// kSuccess for 0. An example of the text: "cannot write to /tmp/x: No space left on device".
Err file_error(int system_error, std::string_view what, std::string_view path);
int file_error_class(int system_error) noexcept;

}  // namespace mpc::mpi
