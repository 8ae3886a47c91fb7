#include "nbc/engine/node_run.h"

#include "nbc/engine/completion.h"
#include "nbc/engine/fused_reduction.h"
#include "nbc/engine/hand_off.h"
#include "nbc/engine/local_work.h"
#include "nbc/engine/node_facts.h"
#include "nbc/engine/overdue_nodes.h"
#include "nbc/engine/trace_points.h"
#include "nbc/engine/user_code.h"
#include "runtime/message/background.h"
#include "runtime/message/copy_batch.h"
#include "runtime/message/losses.h"

namespace mpc::nbc {
namespace {

// The engine's part of a completion: runtime/message calls it when a send or receive is complete.
void message_done(msg::Request* request, void* argument) {
  const Message& message = *static_cast<Message*>(argument);
  Collective& c = *message.owner;
  const msg::Status& status = request->status();
  if (status.failed) {
    if (status.error == Errc::kLost) [[unlikely]]
      c.is_broken.store(true, std::memory_order_relaxed);
    c.fail(status.error);
  } else if (c.binding.needs_whole_messages && request->is_short() &&
             c.nodes[message.node].kind == NodeKind::kRecv) [[unlikely]] {
    c.fail(Errc::kCount);
  }
  RunContext& run = RunContext::here();
  const NodeId fused = message.fused;
  if (fused != kNoNode && trace::enabled()) [[unlikely]]
    tracing::node_ends(c, message.node);
  complete_node(c, fused != kNoNode ? fused : message.node, run.ready);
  run_ready(run);
}

void start_message(Collective& c, const Node& node, NodeId id) {
  Message& message = c.messages[node.request];
  message.owner = &c;
  message.node = id;
  message.fused = kNoNode;
  message.request.set_on_complete(message_done, &message);
  message.request.set_for_application(node.where == Where::kApplication ||
                                      (c.waiter != nullptr && !msg::waits_help()));
  const Binding& b = c.binding;
  if (node.kind == NodeKind::kSend) {
    msg::start_send(*c.rank, message.request,
                    {c.address(node.from), node.from.count, &c.type(node.from),
                     b.world_ranks[static_cast<size_t>(node.peer)], b.context,
                     b.tag_base + node.tag_offset, b.my_rank, msg::Mode::kStandard});
  } else {
    message.request.set_fused_reduction(c.schedule->has_reductions() ? &kFusedReduction
                                                                     : nullptr);
    const bool is_large =
        node.to.count * c.type(node.to).size() >= local_work_setting.get();
    message.request.set_whole_bytes(is_large ? c.received_bytes() : 0);
    msg::start_recv(*c.rank, message.request,
                    {c.address(node.to), node.to.count, &c.type(node.to), node.peer,
                     b.context, b.tag_base + node.tag_offset});
  }
}

void execute(NodeState& state, ReadyList& ready) {
  Collective& c = *state.owner;
  const NodeId id = state.id;
  const Node& node = c.nodes[id];
  if (trace::enabled()) [[unlikely]]
    tracing::node_begins(c, id);
  if (c.is_broken.load(std::memory_order_relaxed)) [[unlikely]]
    return complete_node(c, id, ready);
  if (node.kind == NodeKind::kSend || node.kind == NodeKind::kRecv)
    return start_message(c, node, id);
  if (is_user_code(c, node)) return run_user_node(state, ready);
  do_work(c, node);
  complete_node(c, id, ready);
}

// Leaves the node to a wait or another call of its rank.
void keep_for_rank(NodeState& state) {
  const Collective& c = *state.owner;
  job::Rank& rank = *c.rank;
  const bool is_own = c.waiter == &sched::Execution::self();
  const bool is_nonblocking = c.waiter == nullptr;
  const bool is_for_calls_only =
      is_user_code(c, c.nodes[state.id]) && !c.binding.reduction.may_run_in_background;
  // The collective may be complete and reused from here on.
  is_for_calls_only ? c.engine->keep_user_node(state) : c.engine->keep_node(state);
  if (is_nonblocking && !is_for_calls_only) expect_overdue_nodes(rank, &run_kept_nodes);
  if (!is_own) msg::notify(rank);  // the waiter makes its own progress anyway
}

// Runs a node on the rank's progress thread, or on the rank that took it back.
void run_in_background(sched::ProgressItem& item) noexcept {
  RunContext& run = RunContext::here();
  // The messages that it starts are not copied one after the other here.
  const msg::CopyBatch batch;
  execute(static_cast<NodeState&>(item), run.ready);
  run_ready(run);
}

bool leave_to_progress(NodeState& state) noexcept {
  const Collective& c = *state.owner;
  const Node& node = c.nodes[state.id];
  state.run = &run_in_background;
  const bool is_user = is_user_code(c, node);
  const bool is_any = msg::ShortCall::is_inside() || is_user || !msg::waits_help();
  const auto need =
      is_any ? sched::ProgressNeed::kAnyCore : sched::ProgressNeed::kFreeCore;
  job::Rank& rank = *c.rank;
  if (!rank.progress->submit(state, work_bytes(c, node), need, data_of(c, is_user)))
    return false;
  msg::call_waiting(rank);  // the collective may be freed
  return true;
}

void run_node(NodeState& state, ReadyList& ready) {
  const Collective& c = *state.owner;
  const Node& node = c.nodes[state.id];
  Executor executor = executor_of(c, node, state.goes_up);
  if (executor == Executor::kProgressThread) {
    if (leave_to_progress(state)) return;
    executor = executor_if_refused(is_user_code(c, node));
  }
  if (executor == Executor::kRank)
    keep_for_rank(state);
  else
    execute(state, ready);
}

}  // namespace

void run_all(RunContext& run) {
  run.is_running = true;
  while (!run.ready.empty()) {
    if (run.starter != nullptr && run.ready.first()->owner->rank != run.starter &&
        --run.budget < 0 && hand_off(run))
      continue;
    run_node(run.ready.pop(), run.ready);
  }
  run.is_running = false;
}

void start_nodes(Collective& c) {
  c.prepare();
  if (trace::enabled()) [[unlikely]]
    tracing::collective_begins(c);
  const Schedule& schedule = *c.schedule;
  if (schedule.nodes().empty()) return finish(c);
  RunContext& run = RunContext::here();
  // All of them before the first one runs, so that the collective cannot be complete (and freed)
  // before the last start.
  for (const NodeId id : schedule.start_nodes()) run.ready.push(c, id);
  run_ready(run);
}

bool run_kept_nodes(job::Rank& rank) {
  RankEngine* const engine = RankEngine::find(rank);
  if (engine == nullptr || !engine->has_kept_nodes()) return false;
  RunContext& run = RunContext::here();
  // Repeats until there are none: what a node starts may give this rank its next node.
  while (NodeState* node = engine->take_kept_nodes()) {
    while (node != nullptr) {
      NodeState* next = node->next_ready;  // the collective may be freed after the node
      execute(*node, run.ready);
      run_ready(run);
      node = next;
    }
  }
  return true;
}

}  // namespace mpc::nbc
