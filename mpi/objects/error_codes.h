#pragma once
// Error codes: classes and texts of codes, the user's included.
//
// Role:      MPI_Error_class, MPI_Error_string.
// Users:     mpi/objects/errhandler.cpp, bodies.
// Threads:   any execution of the rank.
// See also:  MPI-4.1 sections 9.4 and 9.5.

#include <memory>
#include <string>
#include <vector>

#include "mpi.h"
#include "mpi/objects/error.h"

namespace mpc::mpi {

class Errhandler;

int class_of_code(int code) noexcept;  // MPI_ERR_UNKNOWN for a code that does not exist
bool is_error_code(int code) noexcept;  // predefined or the user's
std::string text_of_code(int code);     // without detail; "" for a user's without text

// Per rank: the classes, codes and strings that the user adds (MPI-4.1 section 9.5), and the one
// error handler that no object holds.
struct ErrorTable {
  struct Code {
    int error_class = 0;  // own number: it is a class
    std::string text;
    bool live = false;
  };
  std::vector<Code> codes;                 // index: code - MPI_ERR_LASTCODE - 1
  int last_used = MPI_ERR_LASTCODE;        // value of MPI_LASTUSEDCODE
  std::shared_ptr<Errhandler> of_no_file;  // of MPI_FILE_NULL; null: not set
};

}  // namespace mpc::mpi
