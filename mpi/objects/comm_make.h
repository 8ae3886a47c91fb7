#pragma once
// Making communicators from others: the steps that several MPI functions share.
//
// Role:      agreement on a context id, split, subset; see each function.
// Users:     bodies of communicators, topologies, windows and files.
// Threads:   any execution of the rank; collective over the communicator.
// See also:  mpi/objects/meeting.h.

#include <functional>
#include <memory>

#include "mpi/objects/comm.h"
#include "mpi/objects/meeting.h"

namespace mpc::mpi {

struct ContextRoom : Room {
  msg::ContextId context = 0;
  std::shared_ptr<const void> shared;  // what the first member made for all
};

// Same groups, new context id; without attributes, hints, topology. Switches: no.
Comm* duplicate_plain(Comm& comm);

// One communicator for each color, members ordered by (key, rank); *out is null where the
// color is MPI_UNDEFINED. Switches: yes.
void split_comm(Comm& comm, int color, int key, const char* what, Comm** out);

// A communicator of the first `n` ranks, in the same order; null at the others. `decide` runs
// at the first member that comes. Switches: no.
Comm* first_ranks(Comm& comm, int n, MeetingKind kind,
                  const std::function<void(ContextRoom&)>& decide = {},
                  std::shared_ptr<ContextRoom>* room = nullptr);

// Ends a communicator whose creation failed, or that the user frees.
void end_comm(Comm* comm) noexcept;

}  // namespace mpc::mpi
