#pragma once
// Collective access: one read or write in which all members take part.
//
// Role:      the members of a process meet and leave their arguments; then they, or threads of the
//            runtime, move the data together (runtime/io/collective.h).
// Users:     mpi/io.
// Threads:   any execution of the rank; collective.
// See also:  mpi/io/pending.h; docs/design/0028-files.md.

#include "mpi/io/pending.h"

namespace mpc::mpi {

// Both: `offset` in etypes; all members make the same number of collective calls before.
// access_all() does all of it. Switches: yes.
Err access_all(const char* call, File& file, Direction direction, Count offset,
               const Data& data, MPI_Status* status);
// Starts the access. Waits for other members only if arguments are wrong. *out is written on
// success only.
Err start_all(const char* call, File& file, Direction direction, Count offset,
              const Data& data, PendingRef* out);

}  // namespace mpc::mpi
