#pragma once
// Allocation: the way of mpcrun to all nodes that Slurm has given the user.
//
// Role:      inside salloc or sbatch it turns into srun, which starts mpcrun again on each node.
// Users:     tools/mpcrun/main.cpp.
// Threads:   the main thread.
// See also:  runtime/wireup/starter.h, docs/cluster.md (under Slurm).

#include "runtime/job/launch.h"

namespace mpc::tools {

// There are several nodes and ranks, and nobody has started this mpcrun on one of them.
bool needs_srun(const job::JobSpec& spec);
// Returns the exit status, with a message on standard error, if that cannot be.
int become_srun(int argc, char** argv, const job::JobSpec& spec);

}  // namespace mpc::tools
