#pragma once
// File position: the individual file pointer in an access, and where a seek begins.
//
// Role:      what the blocking and the non-blocking calls share.
// Users:     mpi/io.
// Threads:   any execution of the rank.
// See also:  mpi/io/shared_pointer.h.

#include "mpi/io/access.h"

namespace mpc::mpi {

// Prepares the access at the individual pointer, which passes it, whatever will be found in the file.
Err place_at_pointer(Access& access, File& file, Direction direction, const Data& data);
// The pointer, for `data`; it passes them. For collective calls, which check for themselves.
Err take_pointer(File& file, const Data& data, Count* offset);

// Of MPI_SEEK_SET and MPI_SEEK_END, in etypes. Errors: MPI_ERR_ARG for others.
Err seek_base(File& file, int whence, Count* base);
// The first etype that begins at the end of the file, or behind it. errno, or 0.
int end_in_etypes(File& file, Count* etypes) noexcept;

}  // namespace mpc::mpi
