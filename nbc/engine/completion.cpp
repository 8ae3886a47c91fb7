#include "nbc/engine/completion.h"

#include "nbc/engine/run_context.h"
#include "nbc/engine/trace_points.h"
#include "runtime/message/notify.h"

namespace mpc::nbc {

// kFinishing tells the owner that it may go on, but must not exit, nor reuse or free the
// collective before kDone: until then it is woken or called back.
void finish(Collective& c) {
  if (trace::enabled()) [[unlikely]]
    tracing::collective_ends(c);
  sched::Execution* const waiter = c.waiter;
  if (waiter != nullptr && waiter == &sched::Execution::self()) {
    // No other execution reads the phase, and none has to be woken.
    c.phase.store(kDone, std::memory_order_release);
    return;
  }
  // Release pairs with is_finished(): everything that the nodes wrote.
  c.phase.store(kFinishing, std::memory_order_release);
  if (waiter != nullptr) {
    waiter->unpark();
  } else {
    if (c.on_complete != nullptr) c.on_complete(c.on_complete_argument);
    if (RunContext::here().starting != &c) msg::notify_waits(*c.rank);
  }
  c.phase.store(kDone, std::memory_order_release);  // pairs with await_finish()
}

void await_finish(const Collective& c) noexcept {
  // Acquire pairs with finish(), which has only a few instructions left.
  for (int turn = 0; c.phase.load(std::memory_order_acquire) == kFinishing; ++turn) {
    if (turn < 100)
      __builtin_ia32_pause();
    else
      sched::Execution::self().yield();
  }
}

void complete_node(Collective& c, NodeId id, ReadyList& ready) {
  if (trace::enabled()) [[unlikely]]
    tracing::node_ends(c, id);
  const Node* const nodes = c.nodes;
  const auto successors = c.schedule->successors(nodes[id]);
  if (successors.empty()) {
    // acq_rel: the execution that brings it to zero has seen what all other nodes wrote.
    if (c.sinks_left.load(std::memory_order_acquire) == 1 ||
        c.sinks_left.fetch_sub(1, std::memory_order_acq_rel) == 1)
      finish(c);
    return;
  }
  NodeState* const states = c.states.data();
  for (const NodeId next : successors) {
    // acq_rel for the same reason: all predecessors.
    if (nodes[next].predecessor_count == 1 ||
        states[next].waiting.fetch_sub(1, std::memory_order_acq_rel) == 1)
      ready.push(
          c, next,
          nodes[id].kind == NodeKind::kReduce || nodes[id].level > nodes[next].level);
  }
}

}  // namespace mpc::nbc
