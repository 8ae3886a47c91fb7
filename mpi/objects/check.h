#pragma once
// Check: faults of a program that MPI need not notice (mpi.check=full).
//
// Role:      compares the calls of the members of a collective: function, root, operation, data.
//            Lists at MPI_Finalize what the rank has left: handles, requests, messages.
// Users:     mpi/coll, mpi/env, mpi/session, mpi/objects, mpi/api.
// Threads:   any execution of the rank.
// See also:  docs/checking.md; mpi/objects/fault.h (reports), mpi/objects/made.h (handles),
//            mpi/objects/watch.h (messages, buffers).

#include <span>

#include "mpi/objects/comm.h"
#include "mpi/objects/op.h"
#include "nbc/algorithms/collectives.h"

namespace mpc::mpi {

struct RankState;

// mpi.check=full. Constant once ranks run.
bool is_checking() noexcept;

// What one member calls.
struct CollectiveCall {
  const char* name;  // "MPI_Bcast"
  const nbc::Shape& shape;
  const dt::Datatype* send_type;  // or null
  const dt::Datatype* recv_type;
  std::span<const dt::Datatype* const> many_types;  // of w forms, those sent first
  const Op* op;                                     // null: none
  bool may_wait;                                    // it blocks
};
// Compares the call with that of the member that came first, and reports differences; waits for no
// member. If members live in several processes, a blocking call waits until all have come, and is
// compared with their calls; a call that does not block is compared within its process. Nothing is
// compared on an intercommunicator.
// Switches: yes.
void compare_with_others(Comm& comm, const CollectiveCall& call);

// Reports collectives that the rank has called, and that members of its process never call. Caller: MPI_Finalize, once
// all ranks of the world have come to it.
void report_missing_calls(const RankState& state, const char* call);

// Reports and cancels the operations whose requests the rank has freed, and which no call will ever
// complete, so that no rank waits for them. Caller: the call that ends MPI for the rank, once all
// members have come to it.
// Switches: yes.
void end_freed_requests(RankState& state, const char* call);
// Caller: the call that ends MPI for the rank, after all members have come. Without info objects and error handlers, which
// may be freed later.
void report_what_is_left(RankState& state, const char* call);
// When the program has ended: those, and all if it has not ended a session.
void report_what_is_left_at_end(RankState& state);

}  // namespace mpc::mpi
