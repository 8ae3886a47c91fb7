#pragma once
// Process tree: all that a command has started, and their end.
//
// Role:      finds the processes below this one, and kills them, such that none is left.
// Users:     tools/mpclaunch/shim.cpp.
// Threads:   one.
// See also:  prctl(2), PR_SET_CHILD_SUBREAPER: orphans come to the process that has asked for them.

#include <sys/types.h>

#include <vector>

namespace mpc::launch {

// Orphans among those that this process's children start become its own children.
void adopt_orphans() noexcept;
// Children, their children and so on, of this process. What is started meanwhile may be missing.
std::vector<pid_t> processes_below();
// Not `spared` (-1: nobody), whoever its parent is.
void signal_all_below(int signal, pid_t spared = -1);
// Kills until there are none, and reaps them. Caller: it has adopted orphans.
void end_all_below();

}  // namespace mpc::launch
