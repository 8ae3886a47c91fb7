#pragma once
// User code: nodes that call a user's function, one at a time per rank.
//
// Role:      a user's function may have state of its own, as in programs without threads. The
//            rank, its progress thread and its other threads may all have one to run: the first
//            one to arrive runs it, and then what the others leave meanwhile.
// Users:     nbc/engine.
// Threads:   executions that act as the rank.
// See also:  nbc/engine/engine.h (UserCode: functions that no schedule calls).

#include "nbc/engine/rank_engine.h"
#include "nbc/engine/ready_list.h"

namespace mpc::nbc {

// Runs the rank's nodes with user code, unless another execution is in user code: that one runs
// them when it leaves. Successors are appended to `ready`. Returns true if any node has run.
bool run_user_nodes(RankEngine& engine, ReadyList& ready);

// The same with one more node. Its collective may be complete and reused on return.
void run_user_node(NodeState& node, ReadyList& ready);

}  // namespace mpc::nbc
