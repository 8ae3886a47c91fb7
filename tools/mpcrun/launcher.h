#pragma once
// Launcher: how mpcrun starts a job of several processes.
//
// Role:      mpcrun turns into mpclaunch, which starts mpcrun again for each process.
// Users:     tools/mpcrun/main.cpp.
// Threads:   the main thread.
// See also:  tools/mpclaunch, docs/cluster.md.

#include "tools/mpcrun/options.h"

namespace mpc::tools {

// Leaves the names of the job's hosts in the environment, for a rank that spawns another job on them
// (info key mpc_layout). No effect in a process of the job.
void tell_hosts(const launch::Plan& plan);
// True if the job has several processes or another host, this process is not one of them, and no
// other launcher has started them.
bool needs_launcher(const Command& command);
// True if another launcher has chosen the hosts already. Reports that, once.
bool refuses_hosts(const launch::Plan& plan);
// If that is impossible, prints a message to standard error and returns the exit status.
int become_launcher(int argc, char** argv, const Command& command);

}  // namespace mpc::tools
