#pragma once
// Go direct: may the members of a communicator do without messages?
//
// Role:      the setting nbc.direct, and the one place for a decision that all members must make
//            alike.
// Users:     mpi/coll, mpi/objects/split_direct.cpp.
// Threads:   any execution of the rank.
// See also:  docs/design/0007-direct-collectives.md.

#include "mpi/objects/comm.h"

namespace mpc::mpi {

// The setting; with mpi.check=full false.
bool is_direct_on() noexcept;

// All members get the same answer, which depends on the setting and on where they live. Members of
// several processes use schedules, whose messages can leave a process.
bool may_go_direct(const Comm& comm) noexcept;

}  // namespace mpc::mpi
