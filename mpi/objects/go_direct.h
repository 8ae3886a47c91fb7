#pragma once
// Go direct: may the members of a communicator do without messages?
//
// Role:      the setting nbc.direct, and the one place that decides what all members must decide alike.
// Users:     mpi/coll, mpi/objects/split_direct.cpp.
// Threads:   any execution of the rank.
// See also:  docs/design/0007-direct-collectives.md.

#include "mpi/objects/comm.h"

namespace mpc::mpi {

// The setting; with mpi.check=full nobody does.
bool is_direct_on() noexcept;

// All members know it alike: the setting, and where they live. Members of several processes take
// schedules, whose messages can leave a process.
bool may_go_direct(const Comm& comm) noexcept;

}  // namespace mpc::mpi
