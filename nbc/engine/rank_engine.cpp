#include "nbc/engine/rank_engine.h"

#include <new>

namespace mpc::nbc {

RankEngine* RankEngine::find(job::Rank& rank) noexcept {
  // acquire pairs with the release in of().
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

void RankEngine::lock() noexcept {
  // acquire pairs with unlock(): the list. Held for a few instructions, never over a switch.
  while (lock_.exchange(true, std::memory_order_acquire))
    sched::Execution::self().yield();
}

Collective* RankEngine::take(job::Rank& rank) noexcept {
  RankEngine* const engine = of(rank);
  if (engine == nullptr) return nullptr;
  engine->lock();
  Collective* found = engine->free_;
  if (found != nullptr) engine->free_ = found->next_free;
  engine->unlock();
  return found != nullptr ? found : new (std::nothrow) Collective(rank, *engine);
}

void RankEngine::give_back(Collective* collective) noexcept {
  collective->trim();
  lock();
  collective->next_free = free_;
  free_ = collective;
  unlock();
}

namespace {

// `order` pairs with that of the exchange that takes the chain: what the nodes' predecessors
// wrote.
void push_chain(std::atomic<NodeState*>& list, NodeState& first, NodeState& last,
                std::memory_order order) noexcept {
  NodeState* head = list.load(std::memory_order_relaxed);
  do {
    last.next_ready = head;
  } while (!list.compare_exchange_weak(head, &first, order, std::memory_order_relaxed));
}

NodeState* oldest_first(NodeState* newest) noexcept {
  NodeState* oldest = nullptr;
  while (newest != nullptr) {
    NodeState* next = newest->next_ready;
    newest->next_ready = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}

}  // namespace

void RankEngine::keep_node(NodeState& node) noexcept {
  push_chain(kept_, node, node, std::memory_order_release);
}

void RankEngine::keep_user_node(NodeState& node) noexcept {
  push_chain(user_, node, node, std::memory_order_seq_cst);
}

NodeState* RankEngine::take_kept_nodes() noexcept {
  return oldest_first(kept_.exchange(nullptr, std::memory_order_acquire));
}

NodeState* RankEngine::take_user_nodes() noexcept {
  return oldest_first(user_.exchange(nullptr, std::memory_order_seq_cst));
}

void RankEngine::HandOffScope::push(NodeState& first, NodeState& last) noexcept {
  push_chain(to_.handed_over_, first, last, std::memory_order_release);
}

void RankEngine::await_hand_offs() const noexcept {
  // acquire pairs with ~HandOffScope(), which is a few instructions of another rank's start away.
  while (hand_offs_.load(std::memory_order_acquire) != 0)
    sched::Execution::self().yield();
}

}  // namespace mpc::nbc
