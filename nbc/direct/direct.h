#pragma once
// Direct collectives: blocking ones without messages, for members that share the memory.
//
// Role:      a barrier, an allreduce ... of all members of a Team: arrive, move data straight
//            between the members' buffers, be released.
// Users:     mpi/coll/direct.cpp, which decides when it is taken.
// Threads:   any execution of a member; one collective of a team at a time per member.
// See also:  docs/design/0007-direct-collectives.md, nbc/direct/team.h (how they meet).

#include <string>

#include "nbc/direct/call.h"
#include "nbc/direct/team.h"
#include "runtime/job/rank.h"

namespace mpc::nbc::direct {

struct Outcome {
  const std::string* mismatch =
      nullptr;                // what members did not do alike; nothing was moved
  bool calls_differ = false;  // more than the amount of data is not alike
  int truncated_by = -1;      // this member's buffer was too short for that rank
  int short_from = -1;        // that rank sent less than all alike have to
};

// All members call it, with the same number of earlier calls on the team. `call` is read by
// others until it returns. Switches: yes. A user's operation runs on the execution of a member
// in this call. Ownership: mismatch stays valid until the member's next call on the team.
Outcome run(Team& team, int member, job::Rank& self, const Call& call,
            const sched::WaitReason& why);

// What is done with the data, in a few words, as `mpcinfo collectives` shows it. `call`: only what
// Call::bytes(), coll and the place's rows depend on.
const char* describe(const Team& team, const Call& call) noexcept;

// A direct allreduce needs: elements without gaps; for an operation that does not commute, a
// team in rank order.
bool can_reduce(const Team& team, const dt::Datatype& type,
                bool is_commutative) noexcept;

}  // namespace mpc::nbc::direct
