#pragma once
// Collective access: the same read or write of all members.
//
// Role:      the members of a process meet and leave what they want; then they move it together
//            (runtime/io/collective.h), or threads of the runtime do.
// Users:     mpi/io.
// Threads:   any execution of the rank; collective.
// See also:  mpi/io/pending.h; docs/design/0028-files.md.

#include "mpi/io/pending.h"

namespace mpc::mpi {

// Both: `offset` in etypes; the same number of collective calls before at all members.
// The whole of it. Switches: yes.
Err access_all(const char* call, File& file, Direction direction, Count offset,
               const Data& data, MPI_Status* status);
// Begins and does not wait for the others, but for those to whom wrong arguments matter. *out is
// written on success only.
Err start_all(const char* call, File& file, Direction direction, Count offset,
              const Data& data, PendingRef* out);

}  // namespace mpc::mpi
