#pragma once
// Making communicators from others: the steps that several MPI functions share.
//
// Role:      agreement on a context id, split, subset; see each function.
// Users:     bodies of communicators, topologies, windows and files.
// Threads:   any execution of the rank; collective over the communicator.
// See also:  mpi/objects/meeting.h, mpi/objects/context_reserve.h.

#include <functional>
#include <memory>

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "mpi/objects/meeting.h"

namespace mpc::mpi {

struct ContextRoom : Room {
  msg::ContextId context = 0;
  std::shared_ptr<const void>
      shared;  // what the first member made for all of its process
};

// A meeting of members that found a communicator of their own, and need nothing but an id.
struct FoundingRoom final : Room {
  ContextGrant ids;  // the context, then a reserve if there are several processes
  int pairs_wanted() const override { return 1 + kReservePairs; }
  void conclude(Ids& from) override { ids = from.draw(1); }
};

// A communicator with the same groups and a new context id, without attributes, hints, topology.
// Switches: only if members live in several processes and have to agree on more context ids.
Comm* duplicate_plain(Comm& comm);

// The same, for members that must not wait: its ids may come later. Switches: no.
class Duplication {
 public:
  explicit Duplication(Comm& comm);
  Comm* made() const noexcept { return made_; }
  // True once the communicator can be used. Switches: no.
  bool is_over();

 private:
  Comm* made_;
  bool is_over_ = true;
  ContextSlot context_, local_context_;
};

// A context id for a communicator of members of `comm`, which spans processes; no two
// communicators of one call may have a member in common. Caller: all members. Switches: yes.
msg::ContextId next_context(Comm& comm, const char* what);

// One communicator for each color, members ordered by (key, rank); *out is null where the
// color is MPI_UNDEFINED. Switches: yes. Errors: members of one process call something else.
Err split_comm(Comm& comm, int color, int key, const char* what, Comm** out);

// A communicator of the first `n` ranks, in the same order; null at the others. `decide` runs
// at the first member of each process that comes. Switches: as duplicate_plain().
Comm* first_ranks(Comm& comm, int n, MeetingKind kind,
                  const std::function<void(ContextRoom&)>& decide = {},
                  std::shared_ptr<ContextRoom>* room = nullptr);

// Ends a communicator whose creation failed, or that the user frees.
void end_comm(Comm* comm) noexcept;

}  // namespace mpc::mpi
