#pragma once
// Split direct: MPI_Comm_split of few members that share memory.
//
// Role:      each member tells all others its color and key (the first one also a context id), in
//            one exchange without messages. Each finds its own part from that, without a room, a
//            lock or a
//            last member that works while the others wait.
// Users:     mpi/objects/comm_make.cpp.
// Threads:   any execution of the rank; collective over the communicator.
// See also:  docs/design/0006-meetings.md, docs/design/0007-direct-collectives.md.

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"

namespace mpc::mpi {

// True if direct collectives are on, and there are not too many members for each of them to read
// the choices of all. All members get the same answer.
bool may_split_directly(const Comm& comm) noexcept;

// As split_comm(). Needs: may_split_directly(). Errors: a member does something else.
Err split_directly(Comm& comm, int color, int key, const char* what, Comm** out);

}  // namespace mpc::mpi
