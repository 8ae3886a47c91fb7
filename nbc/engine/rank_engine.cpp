#include "nbc/engine/rank_engine.h"

#include <new>

namespace mpc::nbc {

RankEngine* RankEngine::find(job::Rank& rank) noexcept {
  // Acquire pairs with the release in of().
  return rank.nbc.load(std::memory_order_acquire);
}

RankEngine* RankEngine::of(job::Rank& rank) noexcept {
  if (RankEngine* known = find(rank)) return known;
  auto* fresh = new (std::nothrow) RankEngine;
  if (fresh == nullptr) return nullptr;
  RankEngine* expected = nullptr;
  if (rank.nbc.compare_exchange_strong(expected, fresh, std::memory_order_acq_rel))
    return fresh;
  delete fresh;  // another thread of the rank was first
  return expected;
}

RankEngine::~RankEngine() {
  while (free_ != nullptr) {
    Collective* next = free_->next_free;
    delete free_;
    free_ = next;
  }
}

Collective* RankEngine::take(job::Rank& rank) noexcept {
  RankEngine* const engine = of(rank);
  if (engine == nullptr) return nullptr;
  Collective* const found = engine->take_free();
  return found != nullptr ? found : new (std::nothrow) Collective(rank, *engine);
}

void RankEngine::give_back(Collective* collective) noexcept {
  collective->trim();
  const Locked locked(lock_);
  collective->next_free = free_;
  free_ = collective;
}

void RankEngine::keep_node(NodeState& node) noexcept { kept_.push(node); }

void RankEngine::keep_user_node(NodeState& node) noexcept {
  user_.push(node, std::memory_order_seq_cst);
}

NodeState* RankEngine::take_kept_nodes() noexcept { return kept_.take_oldest_first(); }

NodeState* RankEngine::take_user_nodes() noexcept {
  return user_.take_oldest_first(std::memory_order_seq_cst);
}

void RankEngine::HandOffScope::push(NodeState& first, NodeState& last) noexcept {
  to_.handed_over_.push_chain(first, last);
}

void RankEngine::await_hand_offs() const noexcept {
  // Acquire pairs with ~HandOffScope(), which is only a few
  // instructions of another rank's start away.
  while (hand_offs_.load(std::memory_order_acquire) != 0)
    sched::Execution::self().yield();
}

}  // namespace mpc::nbc
