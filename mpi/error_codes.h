#pragma once
// Error codes: classes and texts of codes, the user's included.
//
// Role:      MPI_Error_class, MPI_Error_string.
// Users:     mpi/errhandler.cpp, bodies.
// Threads:   any execution of the rank.
// See also:  MPI-4.1 sections 9.4 and 9.5.

#include <string>

#include "mpi/error.h"

namespace mpc::mpi {

int class_of_code(int code) noexcept;  // MPI_ERR_UNKNOWN for a code that does not exist
bool is_error_code(int code) noexcept;  // predefined or the user's
std::string text_of_code(int code);     // without detail; "" for a user's without text

// A user's function returned `code`, whose class, if it has one, says nothing about MPI.
// `what`: "the delete function of an attribute returned 17".
[[gnu::cold]] Err fail_in_function(int code, std::string what);
// The last error of this execution was made so.
bool is_last_error_of_function() noexcept;

}  // namespace mpc::mpi
