#pragma once
// Allocation: how mpcrun reaches all nodes that Slurm has given the user.
//
// Role:      inside salloc or sbatch mpcrun turns into srun, which starts mpcrun again on each
//            node.
// Users:     tools/mpcrun/main.cpp.
// Threads:   the main thread.
// See also:  runtime/wireup/starter.h, docs/cluster.md (under Slurm).

#include "runtime/job/launch.h"

namespace mpc::tools {

// True if there are several nodes and ranks, and no launcher has started this mpcrun on one of the
// nodes.
bool needs_srun(const job::JobSpec& spec);
// If that is impossible, prints a message to standard error and returns the exit status.
int become_srun(int argc, char** argv, const job::JobSpec& spec);

}  // namespace mpc::tools
