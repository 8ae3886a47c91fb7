#include "nbc/engine/hand_off.h"

#include "base/counter.h"
#include "base/settings.h"
#include "nbc/engine/rank_engine.h"
#include "runtime/job/job.h"

namespace mpc::nbc {
namespace {

IntSetting start_nodes_setting{
    "nbc.start_nodes", 6, "nodes",
    "Nodes of other ranks that a non-blocking start runs, once it has made them ready, "
    "before "
    "it leaves the rest to a rank that waits on an idle core",
    0};

Counter hand_off_counter{"nbc.relays",
                         "Times that a non-blocking start left others' nodes to a "
                         "rank that waits"};

// Is the rank waiting, and would it begin at once with nodes that are left to it? It is parked on a
// core that is awake and idle, or on the only core, which the starting rank gives up when it waits,
// too.
bool can_take_over(const job::Rank& rank) noexcept {
  const job::Job* const job = rank.job;
  const bool has_one_core = job != nullptr && job->application_workers() == 1 &&
                            job->communication_workers() == 0;
  return has_one_core ? msg::is_parked(rank) : msg::is_parked_idly(rank);
}

}  // namespace

int64_t start_budget() noexcept { return start_nodes_setting.get(); }

bool hand_off(RunContext& run) {
  const Collective& first = *run.ready.first()->owner;
  job::Rank& to = *first.rank;
  if (!can_take_over(to)) return false;
  RankEngine& engine = *first.engine;
  ReadyList others;
  for (NodeState *node = run.ready.take_all(), *next = nullptr; node != nullptr;
       node = next) {
    next = node->next_ready;
    (node->owner->rank == run.starter ? run.ready : others).append(*node);
  }
  // The push is the last touch of the nodes, unless they come back.
  RankEngine::HandOffScope scope(engine);
  scope.push(*others.first(), *others.last());
  if (msg::call_parked(to)) {
    hand_off_counter.add();
    return true;
  }
  NodeState* const left = engine.take_handed_over();
  run.ready.append_chain(left);
  return left == nullptr;
}

}  // namespace mpc::nbc
