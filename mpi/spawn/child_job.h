#pragma once
// ChildJob: ranks that MPI_Comm_spawn starts as a job of their own, with mpcrun.
//
// Role:      for the cases in which children cannot join the caller's process: a program without
//            mpcrun has no workers to which ranks could be added, in a job of several processes a
//            rank's number says which process has it, and the user may name other hosts. So the root
//            starts mpcrun, and the new job connects to a port of the root in MPI_Init.
// Users:     mpi/spawn/spawn_calls.cpp.
// Threads:   the rank's main thread; any of the program's threads that calls MPI_Comm_spawn.
// See also:  meet_parent() in mpi/objects/parent.h, the other side;
//            docs/design/0044-spawning-without-mpcrun.md, 0039-jobs-that-connect.md.

#include <vector>

#include "mpi/spawn/link.h"
#include "mpi/spawn/spawn_request.h"

namespace mpc::mpi {

// At the root. Returns when all ranks of the new job are in MPI_Init, with their group, or with the
// reason why there are none (MPI_ERR_SPAWN). `key`: as for join_groups(). *met: the caller ends it
// (end_match()) once there is a communicator. Switches: yes.
Learnt start_child_job(Comm& comm, const MeetingKey& key,
                       const std::vector<SpawnRequest>& requests, const char* what,
                       Match* met);

}  // namespace mpc::mpi
