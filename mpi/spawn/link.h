#pragma once
// Link: two groups that meet at a port become an intercommunicator.
//
// Role:      the roots meet, of one job or of two, and tell their groups.
// Users:     mpi/spawn.
// Threads:   any execution of the rank.
// See also:  mpi/spawn/ports.h, mpi/spawn/groups.h; MPI-4.1 section 11.9.

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "mpi/spawn/groups.h"
#include "mpi/spawn/ports.h"

namespace mpc::mpi {

// No place of a communicator, of groups or of children (mpi/objects/parent.cpp) has this bit alone.
inline constexpr uint64_t kPlaceOfPorts = uint64_t{1} << 61;

// At the root, when it has met the other one: learns of its group. `key`: as join_groups(). Switches: yes.
Learnt learn_at_port(Comm& comm, const MeetingKey& key, const Match& met,
                     const char* what);
// Once there is a communicator, which counts on the other job now, or none; if there is another job.
void end_match(const Match& match);

// Caller: all members of `comm`. seconds: as meet_at_port(). Switches: yes. Errors: as meet_at_port().
Err link_at_port(Comm& comm, int root, const char* port_name, Side side, double seconds,
                 const char* what, Comm** out);
// So long does who connects wait if nothing else is said.
double connect_seconds();

}  // namespace mpc::mpi
