#pragma once
// Members that have died: which calls on a communicator cannot succeed any more, and what ends the job.
//
// Role:      the check at the entrance of collective calls; a list of the objects that need all
//            their members.
// Users:     mpi/coll, mpi/comm, mpi/objects.
// Threads:   any.
// See also:  docs/design/0040-losses.md; runtime/message/losses.h.

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "runtime/job/losses.h"

namespace mpc::mpi {

// MPI_ERR_PROC_ABORTED.
[[gnu::cold]] Err fail_without_member(const char* call, const Comm& comm);
[[gnu::cold]] Err look_for_lost_member(const char* call, const Comm& comm);

// The same if a member has died. Cost: a load.
inline Err check_members(const char* call, const Comm& comm) {
  if (!job::losses::any()) [[likely]]
    return kSuccess;
  return look_for_lost_member(call, comm);
}

// For a window or a file: while it is open the death of a member ends the job. `what` is for the
// report, and static.
void begin_to_need(const Comm& comm, const char* what);
void end_to_need(const Comm& comm) noexcept;

}  // namespace mpc::mpi
