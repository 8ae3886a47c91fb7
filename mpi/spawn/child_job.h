#pragma once
// ChildJob: the ranks that are spawned where they cannot join the process.
//
// Role:      a program without mpcrun has no workers that ranks could be added to, and in a job of several processes
//            a rank's number says which one has it. So the root starts mpcrun, whose job connects to a port of the
//            root's in MPI_Init.
// Users:     mpi/spawn/spawn_calls.cpp.
// Threads:   the rank's main thread; any of the program's threads that calls MPI_Comm_spawn.
// See also:  meet_parent() in mpi/objects/parent.h, the other side;
//            docs/design/0044-spawning-without-mpcrun.md, 0039-jobs-that-connect.md.

#include <vector>

#include "mpi/spawn/link.h"
#include "runtime/job/job_spec.h"

namespace mpc::mpi {

// At the root: returns when all ranks of the job are in MPI_Init, with their group, or why there are none
// (MPI_ERR_SPAWN). `key`: as join_groups(). *met: to end when there is a communicator (end_match()). Switches: yes.
Learnt start_child_job(Comm& comm, const MeetingKey& key,
                       const std::vector<job::AppSpec>& apps, const char* what,
                       Match* met);

}  // namespace mpc::mpi
