#pragma once
// Groups: the last step of MPI_Comm_spawn, MPI_Comm_accept, MPI_Comm_connect and MPI_Comm_join.
//
// Role:      the root has met the other side, or knows why it has not; all members of its
//            communicator learn that, and get the intercommunicator.
// Users:     mpi/spawn.
// Threads:   any execution of the rank.
// See also:  mpi/objects/intercomm_leaders.h; MPI-4.1 sections 11.8 and 11.10.

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "mpi/objects/intercomm_leaders.h"

namespace mpc::mpi {

// `mine`: what the root has learnt; null at the others. `key`: meeting_key(kInterCreate, comm),
// drawn once in the call. Caller: all members. Switches: yes.
// Errors: the root's, with its text, at all members.
Err join_groups(Comm& comm, const MeetingKey& key, const Learnt* mine, const char* what,
                Comm** out);

// The root's error, for all members.
Learnt failed(int error, std::string message);

}  // namespace mpc::mpi
