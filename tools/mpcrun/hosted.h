#pragma once
// Hosted: jobs whose ranks are processes of their own (--ranks-per-process 1).
//
// Role:      decides whether a job is one, refuses options that reach into a process of ours, becomes the shim
//            of one rank.
// Users:     tools/mpcrun/main.cpp, tools/mpcrun/options.cpp.
// Threads:   none.
// See also:  docs/design/0032-hosted-ranks.md, tools/mpclaunch/shim.h.

#include "base/result.h"
#include "tools/mpcrun/parsed.h"

namespace mpc::tools {

// What --ranks-per-process says: a number, or auto. "" if it is fine, else the end of a sentence.
std::string fault_of_ranks_per_process(const std::string& text);
// Puts it into the wish; auto: a process for each rank if one of the programs cannot be copied.
// Errors: kArg: an option that such ranks cannot have.
Result<> decide_hosted(const Parsed& parsed, HostWish& wish, Command& command);
// What --on-fail says, when the plan is made. Errors: kArg: not in such a job.
Result<> decide_to_go_on(const Parsed& parsed, int ranks, Command& command);
// The processes that the launcher starts will know it.
void mark_hosted(const Command& command);
// Is this process one of those that were told?
bool is_part_of_hosted();
// Returns the exit status if that fails.
int become_shim(const Command& command);
// --show. Returns the exit status.
int show_hosted(const Command& command);

}  // namespace mpc::tools
