#pragma once
// Uses: which bytes a collective call reads and writes (mpi.check=full).
//
// Role:      from the description of a call to the rank's buffers in use.
// Users:     mpi/coll/forms.h.
// Threads:   any execution of the rank.
// See also:  mpi/objects/buffers_in_use.h, docs/checking.md.

#include "mpi/coll/describe.h"

namespace mpc::mpi::impl {

// Of a call that is over when it returns: compared with what is under way, and with each other.
[[gnu::cold]] void look_at_buffers(const Call& call);
// Of a call that has made `request`: from now on they are in use, of a persistent one from each start.
[[gnu::cold]] void watch_buffers(Request& request, const Call& call,
                                 bool is_persistent);

}  // namespace mpc::mpi::impl
