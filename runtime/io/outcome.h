#pragma once
// Outcome: how many bytes of an access to a file were moved, and what stopped it.
//
// Role:      the result of all functions below MPI's files. Bytes are bytes of data, not of gaps.
// Users:     runtime/io, mpi/io.
// Threads:   a value.
// See also:  mpi/io/file_errors.h (errno to MPI classes).

#include <cstdint>

namespace mpc::io {

using Count = int64_t;

struct Outcome {
  Count bytes = 0;  // moved; fewer than requested without an error: the file ends there
  int error = 0;    // errno
};

}  // namespace mpc::io
