#pragma once
// Direct collectives: blocking ones without messages, for members that share the memory.
//
// Role:      a barrier, an allreduce ... of all members of a Team: they arrive, data are moved
//            directly between their buffers, they are released.
// Users:     mpi/coll/direct.cpp, which decides when to use it.
// Threads:   any execution of a member; one collective of a team at a time per member.
// See also:  docs/design/0007-direct-collectives.md, nbc/direct/team.h (how they meet).

#include "nbc/direct/call.h"
#include "nbc/direct/team.h"
#include "runtime/job/rank.h"

namespace mpc::nbc::direct {

// All members call it, after the same number of earlier calls on the team. Others read `call` until
// it returns. Switches: yes. A user's operation runs on the execution of a member in this call.
// Ownership: mismatch stays valid until the member's next call on the team.
Outcome run(Team& team, int member, job::Rank& self, const Call& call,
            const sched::WaitReason& why);

// How the data are moved, in a few words, as `mpcinfo collectives` shows it. `call`: only the
// fields that Call::bytes(), coll and the rows of the place need.
const char* describe(const Team& team, const Call& call) noexcept;

// Conditions of a direct allreduce: elements without gaps; for an operation that does not commute,
// a team in rank order.
inline bool can_reduce(const Team& team, const dt::Datatype& type,
                       bool is_commutative) noexcept {
  return type.is_predefined() && type.is_contiguous() && type.size() > 0 &&
         (is_commutative || team.is_in_rank_order());
}

}  // namespace mpc::nbc::direct
