#pragma once
// Launcher: the way of mpcrun to a job of several processes.
//
// Role:      turns into mpclaunch, which starts mpcrun again for each process.
// Users:     tools/mpcrun/main.cpp.
// Threads:   the main thread.
// See also:  tools/mpclaunch, docs/cluster.md.

#include "runtime/job/launch.h"

namespace mpc::tools {

// The job has several processes, and this is none of them, nor has another launcher started them.
bool needs_launcher(const job::JobSpec& spec);
// Returns the exit status, with a message on standard error, if that cannot be.
int become_launcher(int argc, char** argv, const job::JobSpec& spec);

}  // namespace mpc::tools
