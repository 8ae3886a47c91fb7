#pragma once
// Check: what a wrong program does and MPI need not notice (mpi.check=1).
//
// Role:      compares what the members of a collective call: function, root, operation, data;
//            lists at MPI_Finalize what the rank has left: handles, requests, messages.
// Users:     mpi/coll, mpi/env.
// Threads:   any execution of the rank.
// See also:  docs/mpi.md, section "Checks"; mpi/objects/object.h (counts).

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "mpi/objects/op.h"
#include "nbc/algorithms/collectives.h"

namespace mpc::mpi {

struct RankState;

bool is_checking() noexcept;

// What one member calls.
struct CollectiveCall {
  const char* name;  // "MPI_Bcast"
  const nbc::Shape& shape;
  const dt::Datatype* send_type;  // or null
  const dt::Datatype* recv_type;
  const Op* op;   // null: none
  bool may_wait;  // it blocks
};
// Compares it with that of the member who came first; waits for nobody. If members live in several
// processes a call that blocks waits until all have come, and is compared with theirs; one that does
// not is compared within its process. Nothing is compared on an intercommunicator.
// Switches: yes. Errors: MPI_ERR_NOT_SAME; the message names the other member's rank and what
// differs.
Err compare_with_others(Comm& comm, const CollectiveCall& call);

// In MPI_Init, before the rank makes objects: from now on objects are counted, if mpi.check says so.
void count_objects(int ranks);
// In MPI_Finalize, after all members have come: one line on standard error if anything is left.
void report_what_is_left(RankState& state);

}  // namespace mpc::mpi
