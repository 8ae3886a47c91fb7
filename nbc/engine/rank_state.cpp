#include "nbc/engine/rank_state.h"

#include <new>

#include "base/check.h"
#include "nbc/engine/rescue.h"
#include "runtime/job/job.h"

namespace mpc::nbc {

RankState* RankState::find(job::Rank& rank) noexcept {
  // acquire pairs with the release in of().
  return rank.nbc.load(std::memory_order_acquire);
}

RankState& RankState::of(job::Rank& rank) {
  if (RankState* known = find(rank)) return *known;
  auto* fresh = new (std::nothrow) RankState;
  CHECK(fresh != nullptr, "no memory for a rank's collectives");
  RankState* expected = nullptr;
  if (rank.nbc.compare_exchange_strong(expected, fresh, std::memory_order_acq_rel))
    return *fresh;
  delete fresh;  // another thread of the rank was first
  return *expected;
}

RankState::~RankState() {
  while (free_ != nullptr) {
    Collective* next = free_->next_free;
    delete free_;
    free_ = next;
  }
}

void RankState::lock() noexcept {
  // acquire pairs with unlock(): the list. Held for a few instructions, never over a switch.
  while (lock_.exchange(true, std::memory_order_acquire))
    sched::Execution::self().yield();
}

Collective* RankState::take(job::Rank& rank) {
  lock();
  Collective* found = free_;
  if (found != nullptr) free_ = found->next_free;
  unlock();
  if (found != nullptr) return found;
  found = new (std::nothrow) Collective(rank);
  CHECK(found != nullptr, "no memory for a collective");
  return found;
}

void RankState::give_back(Collective* collective) noexcept {
  collective->trim();
  lock();
  collective->next_free = free_;
  free_ = collective;
  unlock();
}

namespace {

// `order` pairs with that of the pop: what the nodes' predecessors wrote.
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

void RankState::push(NodeState& node) noexcept {
  push_chain(own_, node, node, std::memory_order_release);
}

void RankState::push_user(NodeState& node) noexcept {
  push_chain(user_, node, node, std::memory_order_seq_cst);
}

NodeState* RankState::pop_all() noexcept {
  return oldest_first(own_.exchange(nullptr, std::memory_order_acquire));
}

NodeState* RankState::pop_user() noexcept {
  return oldest_first(user_.exchange(nullptr, std::memory_order_seq_cst));
}

void RankState::Relay::push(NodeState& first, NodeState& last) noexcept {
  push_chain(to_.relayed_, first, last, std::memory_order_release);
}

void RankState::await_relays() const noexcept {
  // acquire pairs with ~Relay(). A few instructions of another rank's start.
  while (relays_.load(std::memory_order_acquire) != 0) sched::Execution::self().yield();
}

void forget_rank(job::Rank& self) noexcept {
  RankState* const state = take_state(self);
  if (state != nullptr) state->await_relays();
  delete state;
}

namespace {

// Before any rank starts, as job::Job::at_rank_end wants.
[[gnu::constructor]] void register_with_job() {
  job::Job::at_rank_end([](job::Rank& rank) { forget_rank(rank); });
}

}  // namespace

}  // namespace mpc::nbc
