#pragma once
// Link: two groups that meet at a port become an intercommunicator.
//
// Role:      the roots, of one job or of two, meet and tell their groups.
// Users:     mpi/spawn.
// Threads:   any execution of the rank.
// See also:  mpi/spawn/ports.h, mpi/spawn/groups.h; MPI-4.1 section 11.9.

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "mpi/spawn/groups.h"
#include "mpi/spawn/ports.h"

namespace mpc::mpi {

// This bit alone is the place of no communicator, group or set of children
// (mpi/objects/parent.cpp).
inline constexpr uint64_t kPlaceOfPorts = uint64_t{1} << 61;

// At the root, after it has met the other one: learns that one's group. `key`: as for
// join_groups(). Switches: yes.
Learnt learn_at_port(Comm& comm, const MeetingKey& key, const Match& met,
                     const char* what);
// Call it once the communicator exists, which then counts on the other job itself, or once it is
// known that there will be none. Does nothing if there is no other job.
void end_match(const Match& match);

// How long MPI_Comm_connect waits unless the call says otherwise.
Err link_at_port(Comm& comm, int root, const char* port_name, PortSide side,
                 double seconds, const char* what, Comm** out);
// How long MPI_Comm_connect waits unless the call says otherwise.
double connect_seconds();

}  // namespace mpc::mpi
