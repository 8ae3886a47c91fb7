#pragma once
// Process tree: all processes that a command has started, and their end.
//
// Role:      finds the processes below this one, and kills them so that none is left.
// Users:     tools/mpclaunch/shim.cpp.
// Threads:   one.
// See also:  prctl(2), PR_SET_CHILD_SUBREAPER: orphans become children of the process that has
//            asked for them.

#include <sys/types.h>

#include <vector>

namespace mpc::launch {

// From now on orphans among the descendants of this process become its own children.
void adopt_orphans() noexcept;
// The children of this process, their children and so on. Processes started meanwhile may be
// missing.
std::vector<pid_t> processes_below();
// Has this process a handler for the signal?
bool has_handler(pid_t process, int signal);
// Sends the signal to all of them except `spared` (-1: no exception), whatever its parent is.
void signal_all_below(int signal, pid_t spared = -1);
// Kills until there are none, and reaps them. Caller: it has adopted orphans.
void end_all_below();

}  // namespace mpc::launch
