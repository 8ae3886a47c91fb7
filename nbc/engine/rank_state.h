#pragma once
// RankState of nbc: a rank's pool of collectives, and the nodes that must run on it.
//
// Role:      what job::Rank::nbc points to; made at the first collective, freed at the end.
// Users:     nbc/engine.
// Threads:   push() any execution; the rest by executions of the rank.
// See also:  nbc/engine/collective.h.

#include <atomic>

#include "nbc/engine/collective.h"

namespace mpc::nbc {

class RankState;

// The nodes kept for a rank as a piece of background work; see nbc/engine/rescue.h.
struct RescueItem : sched::ProgressItem {
  RankState* state = nullptr;
  job::Rank* rank = nullptr;
  std::atomic<bool> is_queued{false};
  const void* seen = nullptr;  // at the last tick; the monitor's
};

class RankState {
 public:
  // The rank's, made if need be.
  static RankState& of(job::Rank& rank);
  static RankState* find(job::Rank& rank) noexcept;
  ~RankState();

  // Never null: memory that is not there ends the process.
  Collective* take(job::Rank& rank);
  void give_back(Collective* collective) noexcept;

  // A node of one of the rank's collectives waits for the rank.
  void push(NodeState& node) noexcept;
  bool has_nodes() const noexcept {
    return own_.load(std::memory_order_relaxed) !=
           nullptr;  // a hint; pop_all() is exact
  }
  // Says whether the list has changed; not to be followed. Caller: any.
  const void* list_hint() const noexcept {
    return own_.load(std::memory_order_relaxed);
  }
  RescueItem rescue;
  // All of them, the oldest first.
  NodeState* pop_all() noexcept;

  // Nodes with a function of the user, and whether one is being run: see run_user_code() in
  // engine.cpp. Caller: executions that act as the rank; of push_user(): any.
  // All seq_cst: either who leaves sees the node that was pushed, or who pushed can enter.
  void push_user(NodeState& node) noexcept;
  NodeState* pop_user() noexcept;
  bool has_user_nodes() const noexcept {
    return user_.load(std::memory_order_seq_cst) != nullptr;
  }
  bool enter_user_code() noexcept {
    sched::Execution* nobody = nullptr;
    return in_user_code_.compare_exchange_strong(nobody, &sched::Execution::self(),
                                                 std::memory_order_seq_cst);
  }
  void leave_user_code() noexcept {
    in_user_code_.store(nullptr, std::memory_order_seq_cst);
  }
  bool is_in_user_code_here()
      const noexcept {  // only the caller itself can have put it there
    return in_user_code_.load(std::memory_order_relaxed) == &sched::Execution::self();
  }

  // Ready nodes of any ranks' collectives, which another rank's start leaves to this rank: a
  // chain by next_ready. While a Relay lives, forget_rank() waits.
  class Relay {
   public:
    // Caller: who holds a node of the rank that is not complete, so that the rank does not end.
    explicit Relay(RankState& to) noexcept : to_(to) {
      to_.relays_.fetch_add(1, std::memory_order_relaxed);
    }
    // release pairs with await_relays(): the last touch.
    ~Relay() { to_.relays_.fetch_sub(1, std::memory_order_release); }
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;
    void push(NodeState& first, NodeState& last) noexcept;

   private:
    RankState& to_;
  };
  bool has_relayed() const noexcept {
    return relayed_.load(std::memory_order_relaxed) != nullptr;  // a hint
  }
  NodeState* pop_relayed() noexcept {
    // acquire pairs with Relay::push().
    return relayed_.exchange(nullptr, std::memory_order_acquire);
  }
  void await_relays() const noexcept;

 private:
  void lock() noexcept;
  void unlock() noexcept { lock_.store(false, std::memory_order_release); }

  std::atomic<NodeState*> own_{nullptr}, user_{nullptr};
  std::atomic<sched::Execution*> in_user_code_{nullptr};
  std::atomic<NodeState*> relayed_{nullptr};
  std::atomic<int> relays_{0};
  std::atomic<bool> lock_{
      false};  // of free_; contended only by several threads of one rank
  Collective* free_ = nullptr;
};

}  // namespace mpc::nbc
