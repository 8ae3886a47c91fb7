#pragma once
// What all direct collectives of MPI need: the choice, the operation, the errors.
//
// Role:      the one place that decides whether members of a communicator may do without messages.
// Users:     mpi/coll/direct.cpp, mpi/coll/direct_one_way.cpp.
// Threads:   any execution of the rank.
// See also:  mpi/coll/direct.h.

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "mpi/objects/op.h"
#include "mpi/objects/views.h"
#include "nbc/direct/direct.h"

namespace mpc::mpi {

// All members know it alike: the setting, and where they live. Members of several processes take
// schedules, whose messages can leave a process.
bool may_go_direct(const Comm& comm) noexcept;

// A predefined operation's functions. False: there are none, and the schedule's way says why.
bool describe_operation(nbc::direct::Operation& out, const dt::Datatype& type,
                        const Op& op);

Err error_of_outcome(const nbc::direct::Outcome& outcome, const char* name);

}  // namespace mpc::mpi
