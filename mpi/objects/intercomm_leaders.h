#pragma once
// Leaders: how two groups that become an intercommunicator learn of each other.
//
// Role:      each leader meets the other leader, and tells its own group what it has learnt.
// Users:     mpi/comm/intercomm.cpp, mpi/comm/from_groups.cpp, mpi/spawn, mpi/objects/parent.cpp.
// Threads:   any execution of the rank.
// See also:  mpi/objects/intercomm_rooms.h; MPI-4.1 section 7.6.

#include <cstdint>

#include "mpi/objects/comm.h"
#include "mpi/objects/intercomm_rooms.h"

namespace mpc::mpi {

// Where two leaders meet: known to both of them in advance.
struct LeadersPlace {
  uint64_t place, sequence;
  const char* what;  // the call, for reports
};

// The leader's part: meets the leader with world rank `other`. `key`: the one with which the other
// members of the group wait in learn_from_leader(). If the members belong to several jobs, all
// processes of the group are open to other jobs when this returns. Errors leave `out->error` set,
// for the group. Switches: yes.
void meet_other_leader(job::Rank& self, const MeetingKey& key, const GroupRef& group,
                       int other, const LeadersPlace& at, Learnt* out);

// The part of all members: the leader passes what it has learnt, the others pass null. Yields the
// description of the new communicator. Switches: yes.
Err learn_from_leader(job::Rank& self, const MeetingKey& key, const GroupRef& group,
                      const Learnt* mine, const char* what, Comm::Spec* out);

}  // namespace mpc::mpi
