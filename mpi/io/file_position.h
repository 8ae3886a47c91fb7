#pragma once
// File position: the individual file pointer in an access, and the origin of a seek.
//
// Role:      shared by the blocking and the non-blocking calls.
// Users:     mpi/io.
// Threads:   any execution of the rank.
// See also:  mpi/io/shared_pointer.h.

#include "mpi/io/access.h"

namespace mpc::mpi {

// Prepares the access at the individual pointer, and moves the pointer on by the length requested,
// whatever the file holds.
Err place_at_pointer(Access& access, File& file, Direction direction, const Data& data);
// The pointer before it is moved on by the length of `data`. For collective calls, which do their
// own checks.
Err take_pointer(File& file, const Data& data, Count* offset);

// The origin for MPI_SEEK_SET and MPI_SEEK_END, in etypes. Errors: MPI_ERR_ARG for others.
Err seek_base(File& file, int whence, Count* base);
// The first etype that begins at the end of the file, or behind it. Returns errno, or 0.
int end_in_etypes(File& file, Count* etypes) noexcept;

}  // namespace mpc::mpi
