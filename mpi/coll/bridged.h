#pragma once
// Bridged collectives: blocking calls on a communicator whose members live in several processes.
//
// Role:      works in two levels: the members of each process without messages, then one member of
//            each process with the others. An empty result says that the call uses its schedule.
// Users:     mpi/coll/direct.cpp.
// Threads:   any execution of the rank.
// See also:  docs/collectives.md (over processes).

#include <optional>

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "mpi/objects/op.h"
#include "mpi/objects/views.h"
#include "runtime/datatype/datatype.h"

namespace mpc::mpi {

// Caller: all members alike, in the collective of this name; nbc.direct is on. Switches: yes.
std::optional<Err> bridged_barrier(Comm& comm);
std::optional<Err> bridged_allreduce(const void* sendbuf, void* recvbuf,
                                     dt::Count count, TypeArg type, Op& op, Comm& comm);

}  // namespace mpc::mpi
