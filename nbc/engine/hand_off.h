#pragma once
// Hand-off: a non-blocking start leaves other ranks' nodes to a rank that waits.
//
// Role:      the rank that starts a collective last finds that all others wait for it, and would
//            run their nodes one after the other before its call returns. After a few nodes
//            (nbc.start_nodes) it hands the rest to a rank that waits: the owner of the first
//            node, if that rank would begin at once.
// Users:     nbc/engine.
// Threads:   the execution of the start.
// See also:  docs/collectives.md (counter nbc.relays), nbc/engine/run_context.h (the budget).

#include "nbc/engine/run_context.h"

namespace mpc::nbc {

// Number of other ranks' nodes that a non-blocking start runs itself.
int64_t start_budget() noexcept;

// Hands the ready nodes of ranks other than run.starter to the owner of the first one. False: that
// rank cannot take over now, and all nodes are still in
// run.ready. Requires: run.ready is not empty.
bool hand_off(RunContext& run);

}  // namespace mpc::nbc
