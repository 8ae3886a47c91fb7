#pragma once
// Completion: when a node completes its successors become ready; the last one ends the collective.
//
// Role:      decrements counters; at the end wakes the owner or calls it back.
// Users:     nbc/engine.
// Threads:   any execution that has done the node's work.
// See also:  docs/completion.md (how a completion travels), nbc/engine/collective.h (phases).

#include "nbc/engine/ready_list.h"

namespace mpc::nbc {

// Appends the successors that wait for nothing else to `ready`. The collective is not touched after
// the last of its counters has been decremented: it may be complete and freed then.
void complete_node(Collective& c, NodeId id, ReadyList& ready);

// Called when the last node is complete; for a collective without nodes at its start.
void finish(Collective& c);

// Waits until finish() no longer refers to the collective. Caller: its owner, when the collective
// is complete or was never started. Switches: only if the system took the completer's core away.
void await_finish(const Collective& c) noexcept;

inline bool is_finished(const Collective& c) noexcept {
  return c.phase.load(std::memory_order_acquire) >= kFinishing;  // pairs with finish()
}

}  // namespace mpc::nbc
