#pragma once
// Uses: which bytes a collective call reads and writes (mpi.check=full).
//
// Role:      derives the rank's buffers in use from the description of a call.
// Users:     mpi/coll/forms.h.
// Threads:   any execution of the rank.
// See also:  mpi/objects/buffers_in_use.h, docs/checking.md.

#include "mpi/coll/describe.h"

namespace mpc::mpi::impl {

// For a call that is over when it returns: its buffers are compared with those under way, and with
// each other.
[[gnu::cold]] void look_at_buffers(const Call& call);
// For a call that has created `request`: its buffers are in use from now on; those of a persistent
// request from each start.
[[gnu::cold]] void watch_buffers(Request& request, const Call& call,
                                 bool is_persistent);

}  // namespace mpc::mpi::impl
