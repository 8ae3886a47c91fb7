#pragma once
// Local work: the copies and reductions of a schedule, done on the caller's core.
//
// Role:      executes nodes that are no messages.
// Users:     nbc/engine.
// Threads:   any execution; a user's reduction as nbc/engine/user_code.h says.
// See also:  nbc/schedule/schedule.h (Node).

#include "nbc/engine/collective.h"

namespace mpc::nbc {

// Does a copy, a reduction or nothing. The collective stays in flight: the caller calls
// complete_node().
void do_work(const Collective& c, const Node& node);

}  // namespace mpc::nbc
