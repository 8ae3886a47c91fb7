#include "nbc/engine/engine.h"

#include "base/check.h"
#include "nbc/engine/completion.h"
#include "nbc/engine/hand_off.h"
#include "nbc/engine/node_run.h"
#include "nbc/engine/overdue_nodes.h"
#include "nbc/engine/user_code.h"
#include "runtime/job/job.h"
#include "runtime/message/background.h"
#include "runtime/message/mailbox.h"

namespace mpc::nbc {

namespace {

bool is_over(void* argument) {
  Collective& c = *static_cast<Collective*>(argument);
  if (is_complete(c)) return true;
  return progress_rank(*c.rank) && is_complete(c);
}

// Does anybody but the rank itself gain if its messages are matched while it computes? Not if
// everything that it sends has left, and what it receives is so short that its senders retain none
// of it. Then those messages should stay in the ring, one line each, instead of being matched by
// their senders, which would have to fetch the lines of the lock, the queue and the receive.
bool is_others_concern(const Collective& c) noexcept {
  constexpr size_t kMostNodes = 64;
  const auto nodes = c.schedule->nodes();
  if (c.on_complete != nullptr || msg::g_has_outside || nodes.size() > kMostNodes)
    return true;
  uint64_t after = 0;  // nodes that wait for a message, directly or indirectly
  for (uint64_t before = 1; after != before;) {
    before = after;
    for (size_t id = 0; id < nodes.size(); ++id) {
      const Node& node = nodes[id];
      if (node.kind != NodeKind::kRecv && (after >> id & 1) == 0) continue;
      for (const NodeId next : c.schedule->successors(node))
        after |= uint64_t{1} << next;
    }
  }
  for (size_t id = 0; id < nodes.size(); ++id) {
    const Node& node = nodes[id];
    if (node.kind == NodeKind::kSend && (after >> id & 1) != 0) return true;
    if (node.kind == NodeKind::kRecv &&
        node.to.count * c.type(node.to).size() > static_cast<Count>(msg::kInlineBytes))
      return true;
  }
  return false;
}

RankEngine& engine_or_end(job::Rank& rank) {
  RankEngine* const engine = RankEngine::of(rank);
  CHECK(engine != nullptr, "no memory to run a function of the user");
  return *engine;
}

// Before any rank starts, as job::Job::at_rank_end requires.
[[gnu::constructor]] void register_hooks() {
  msg::add_progress_hook(progress_rank);
  job::Job::at_rank_end(job::HookOrder::kCollectives,
                        [](job::Rank& rank) { forget_rank(rank); });
}

}  // namespace

CollectivePtr create(job::Rank& self, std::shared_ptr<const Schedule> schedule,
                     const Binding& binding) {
  Collective* const c = RankEngine::take(self);
  if (c == nullptr) return nullptr;
  CollectivePtr bound(c);
  return c->bind_copy(std::move(schedule), binding) ? std::move(bound) : nullptr;
}

void CollectiveDeleter::operator()(Collective* collective) const noexcept {
  await_finish(*collective);
  CHECK(collective->phase.load(std::memory_order_acquire) != kRunning,
        "a collective in flight is dropped");
  collective->engine->give_back(collective);
}

void start(Collective& collective) {
  await_finish(collective);
  job::Rank& rank = *collective.rank;
  {
    const msg::ShortCall short_call;
    RunContext& run = RunContext::here();
    run.starter = &rank;
    run.starting = &collective;
    run.budget = start_budget();
    start_nodes(collective);
    run.starter = nullptr;
    run.starting = nullptr;
  }
  // The collective is the caller's: it does not vanish, complete or not.
  if (!is_complete(collective) && is_others_concern(collective)) msg::leave(rank);
}

bool is_complete(const Collective& collective) noexcept {
  return is_finished(collective);
}

const msg::Status& status(const Collective& collective) noexcept {
  return collective.status;
}

void set_on_complete(Collective& collective, void (*fn)(void*), void* argument) {
  collective.on_complete = fn;
  collective.on_complete_argument = argument;
}

UserCode::UserCode(job::Rank& self) : engine_(engine_or_end(self)) {
  if (engine_.is_in_user_code_here()) return;
  while (!engine_.enter_user_code()) sched::Execution::self().yield();
  is_outermost_ = true;
}

UserCode::~UserCode() {
  if (!is_outermost_) return;
  engine_.leave_user_code();
  if (!engine_.has_user_nodes()) return;
  RunContext& run = RunContext::here();
  run_user_nodes(engine_, run.ready);
  run_ready(run);
}

bool progress_rank(job::Rank& self) {
  RankEngine* const engine = RankEngine::find(self);
  if (engine == nullptr) return false;
  bool has_run = false;
  RunContext& run = RunContext::here();
  if (NodeState* const chain =
          engine->has_handed_over() ? engine->take_handed_over() : nullptr) {
    run.ready.append_chain(chain);
    run_ready(run);
    has_run = true;
  }
  for (bool has_more = true; has_more; has_run |= has_more) {
    has_more = run_kept_nodes(self);
    if (engine->has_user_nodes() && run_user_nodes(*engine, run.ready)) {
      run_ready(run);
      has_more = true;
    }
  }
  return has_run;
}

msg::Status run(job::Rank& self, const Schedule& schedule, const Binding& binding,
                const sched::WaitReason& why) {
  if (schedule.nodes().empty()) return {};
  msg::Status status;
  Collective* c = RankEngine::take(self);
  if (c != nullptr && c->bind(schedule, binding)) {
    c->waiter = &sched::Execution::self();
    start_nodes(*c);
    if (!is_over(c)) msg::wait_until(self, nullptr, 0, is_over, c, why);
    await_finish(*c);
    status = c->status;
  } else {
    status.failed = true;
    status.error = Errc::kNoMem;
  }
  if (c != nullptr) c->engine->give_back(c);
  return status;
}

void forget_rank(job::Rank& self) noexcept {
  RankEngine* const engine = take_engine(self);
  if (engine != nullptr) engine->await_hand_offs();
  delete engine;
}

}  // namespace mpc::nbc
