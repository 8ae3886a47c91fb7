#pragma once
// Launch: starts the ranks that MPI_Comm_spawn asks for.
//
// Role:      a kernel thread of its own opens the programs. It acts for no rank, so what it
//            allocates outlives the rank that asked. The rank gives its core away meanwhile.
// Users:     mpi/spawn/spawn_calls.cpp.
// Threads:   any execution of the rank.
// See also:  runtime/job/job.h (spawn).

#include <vector>

#include "base/result.h"
#include "runtime/job/job.h"
#include "runtime/job/job_spec.h"

namespace mpc::mpi {

// Switches: yes. Errors: as Job::spawn().
Result<job::World> launch(job::Rank& self, const std::vector<job::AppSpec>& apps,
                          const char* what);

}  // namespace mpc::mpi
