#pragma once
// Outcome: how far an access to a file has come, and what stopped it.
//
// Role:      the result of everything below MPI's files; bytes are those of the data, not of holes.
// Users:     runtime/io, mpi/io.
// Threads:   a value.
// See also:  mpi/io/file_errors.h (errno to MPI classes).

#include <cstdint>

namespace mpc::io {

using Count = int64_t;

struct Outcome {
  Count bytes = 0;  // done; fewer than asked for without an error: the file ends there
  int error = 0;    // errno
};

}  // namespace mpc::io
