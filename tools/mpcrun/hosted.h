#pragma once
// Hosted: jobs whose ranks are processes of their own (--ranks-per-process 1).
//
// Role:      decides whether a job is of this kind, refuses options that need a process of ours,
//            becomes the shim of one rank.
// Users:     tools/mpcrun/main.cpp, tools/mpcrun/options.cpp.
// Threads:   none.
// See also:  docs/design/0032-hosted-ranks.md, tools/mpclaunch/shim.h.

#include "base/result.h"
#include "tools/mpcrun/parsed.h"

namespace mpc::tools {

// Checks the value of --ranks-per-process: a number, or auto. "" if it is fine, else the end of a
// sentence.
std::string fault_of_ranks_per_process(const std::string& text);
// Enters the value into `wish`; auto: a process for each rank if one of the programs cannot be
// copied. So it is without a value where mpcrun is called as mpirun or mpiexec.
// Errors: kArg: an option that such ranks cannot have.
Result<> decide_hosted(const Parsed& parsed, HostWish& wish, Command& command);
// Applies --on-fail, once the plan is made. Errors: kArg: not possible in such a job.
Result<> decide_to_go_on(const Parsed& parsed, Command& command);
// False, with a message: one of the programs is linked with another MPI.
bool can_be_hosted(const Command& command);
// Tells the processes that the launcher starts that ranks are hosted.
void mark_hosted(const Command& command);
// Puts a setting, "sched.spin_us=20", into the environment, as MPC_SCHED_SPIN_US=20.
void set_environment_of(const std::string& setting);
// Is this process one of those?
bool is_part_of_hosted();
// If that fails, returns the exit status.
int become_shim(const Command& command);
// For --show. Returns the exit status.
int show_hosted(const Command& command);

}  // namespace mpc::tools
