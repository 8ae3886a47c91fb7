#pragma once
// Facts of a node: what the table of executors asks, for a node of a collective in flight.
//
// Role:      looks at the node, its collective and the caller (rank, progress thread, a call that
//            is to return soon) when a row of the table asks.
// Users:     nbc/engine.
// Threads:   any execution that has found the node ready.
// See also:  nbc/engine/executor.h (the table).

#include "base/settings.h"
#include "nbc/engine/collective.h"
#include "nbc/engine/executor.h"

namespace mpc::nbc {

// Reductions and copies from this size on are large; see its help.
extern IntSetting local_work_setting;

// Who runs this node, seen from the caller.
Executor executor_of(const Collective& c, const Node& node, bool goes_up) noexcept;

// Bytes that a reduction or copy writes.
inline int64_t work_bytes(const Collective& c, const Node& node) noexcept {
  return node.to.count * c.type(node.to).size() * node.repeat.times;
}
inline bool is_user_code(const Collective& c, const Node& node) noexcept {
  return node.kind == NodeKind::kReduce && c.binding.reduction.is_user;
}
// Where the data of local work lie, for the decision to hand it over. Nothing is said of a
// user's operation: what it costs is not known, and it is left to the rank's progress thread
// wherever its data are.
sched::ProgressData data_of(const Collective& c, bool is_user) noexcept;

}  // namespace mpc::nbc
