#pragma once
// Leaders: how two groups that become an intercommunicator learn of each other.
//
// Role:      each leader meets the other one, and tells its group what it has learnt.
// Users:     mpi/comm/intercomm.cpp, mpi/comm/from_groups.cpp, mpi/spawn, mpi/objects/parent.cpp.
// Threads:   any execution of the rank.
// See also:  mpi/objects/intercomm_rooms.h; MPI-4.1 section 7.6.

#include <cstdint>

#include "mpi/objects/comm.h"
#include "mpi/objects/intercomm_rooms.h"

namespace mpc::mpi {

// What both leaders know of a call: where they meet.
struct LeadersPlace {
  uint64_t place, sequence;
  const char* what;  // the call, for reports
};

// The leader's part: meets the one with that world rank. `key`: as of learn_from_leader(), where the others of the
// group are. If there are members of several jobs all processes of the group are open to others when it returns.
// Errors leave `out->error` set, for the group. Switches: yes.
void meet_other_leader(job::Rank& self, const MeetingKey& key, const GroupRef& group,
                       int other, const LeadersPlace& at, Learnt* out);

// Everybody's part, the leader's too, who brings what it has learnt; the others bring null. Returns
// what the new communicator is to be. Switches: yes.
Err learn_from_leader(job::Rank& self, const MeetingKey& key, const GroupRef& group,
                      const Learnt* mine, const char* what, Comm::Spec* out);

}  // namespace mpc::mpi
