#pragma once
// Facts of a node: answers what the table of executors asks about a node of a collective in flight.
//
// Role:      examines the node, its collective and the caller (rank, progress thread, a call that
//            should return soon) when a row of the table asks.
// Users:     nbc/engine.
// Threads:   any execution that has found the node ready.
// See also:  nbc/engine/executor.h (the table).

#include "base/settings.h"
#include "nbc/engine/collective.h"
#include "nbc/engine/executor.h"

namespace mpc::nbc {

// Reductions and copies of at least this size are large; see its help.
extern IntSetting local_work_setting;

// Who runs this node, from the caller's point of view.
Executor executor_of(const Collective& c, const Node& node, bool goes_up) noexcept;

// Bytes that a reduction or copy writes.
inline int64_t work_bytes(const Collective& c, const Node& node) noexcept {
  return node.to.count * c.type(node.to).size() * node.repeat.times;
}
inline bool is_user_code(const Collective& c, const Node& node) noexcept {
  return node.kind == NodeKind::kReduce && c.binding.reduction.is_user;
}
// Where the data of local work lie, for the decision to hand it over.
// For a user's operation nothing is said: its cost is unknown, and it is
// left to the rank's progress thread wherever its data are.
sched::ProgressData data_of(const Collective& c, bool is_user) noexcept;

}  // namespace mpc::nbc
