#pragma once
// Launcher: the way of mpcrun to a job of several processes.
//
// Role:      turns into mpclaunch, which starts mpcrun again for each process.
// Users:     tools/mpcrun/main.cpp.
// Threads:   the main thread.
// See also:  tools/mpclaunch, docs/cluster.md.

#include "tools/mpcrun/options.h"

namespace mpc::tools {

// The job has several processes or another host, and this is none of its processes, nor has another
// launcher started them.
bool needs_launcher(const Command& command);
// Another launcher has chosen the hosts already. Says so, once.
bool refuses_hosts(const launch::Plan& plan);
// Returns the exit status, with a message on standard error, if that cannot be.
int become_launcher(int argc, char** argv, const Command& command);

}  // namespace mpc::tools
