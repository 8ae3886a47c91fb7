#pragma once
// At place: the general way of a collective in which all members meet.
//
// Role:      run() for members that share places, or whose data do not fit into a post.
// Users:     nbc/direct/direct.cpp (run()), when a member cannot go on by itself.
// Threads:   the member.
// See also:  nbc/direct/team.h.

#include "nbc/direct/key.h"
#include "nbc/direct/team.h"

namespace mpc::nbc::direct {

// The properties that must be equal for all members.
inline uint64_t key_of(const Call& call) noexcept {
  return make_key(call.coll, call.op_code, call.bytes());
}

// Arrives; acts for the place or waits for its release. Caller: has counted the exchange. Switches:
// yes.
Outcome run_at_place(Team& team, int member, job::Rank& self,
                     const sched::WaitReason& why);

// Posts differ. All members find that, and call this or run_at_place(). Switches: yes.
[[gnu::cold]] Outcome complain_alone(Team& team, int member, job::Rank& self,
                                     const sched::WaitReason& why);

// The posts of an exchange with blocks of different sizes have been shown, and some say that data are
// elsewhere. As above.
Outcome copy_alone(Team& team, int member, job::Rank& self,
                   const sched::WaitReason& why);

}  // namespace mpc::nbc::direct
