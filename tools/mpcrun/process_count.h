#pragma once
// Process count: how many processes a job has, by -p and --ranks-per-process.
//
// Role:      checks them against the number of ranks, and names values that would be possible.
// Users:     tools/mpcrun/hosts.cpp.
// Threads:   any.
// See also:  docs/cluster.md.

#include "base/result.h"

namespace mpc::tools {

// 0: not given. Errors: kArg.
Result<int> count_processes(int processes, int ranks_per_process, int ranks);

}  // namespace mpc::tools
