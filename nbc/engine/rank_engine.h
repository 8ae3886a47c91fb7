#pragma once
// RankEngine: a rank's pool of collectives, and the nodes that must run on it.
//
// Role:      what job::Rank::nbc points to; created at the first collective, freed at the end.
// Users:     nbc/engine.
// Threads:   keep_node(), keep_user_node() and HandOffScope any execution; the rest by
//            executions of the rank.
// See also:  nbc/engine/collective.h, nbc/engine/user_code.h, nbc/engine/hand_off.h.

#include <atomic>

#include "base/mpsc_stack.h"
#include "base/spin_lock.h"
#include "nbc/engine/collective.h"

namespace mpc::nbc {

// The nodes kept for a rank as a piece of background work; see nbc/engine/overdue_nodes.h.
struct OverdueItem : sched::ProgressItem {
  job::Rank* rank = nullptr;
  std::atomic<bool> is_queued{false};
  const void* seen = nullptr;  // newest_kept() at the last tick; for the monitor
};

class RankEngine {
 public:
  // The rank's engine, created if necessary. Null if there is no memory.
  static RankEngine* of(job::Rank& rank) noexcept;
  // Null if none was created.
  static RankEngine* find(job::Rank& rank) noexcept;
  // A collective of the rank, whose engine is created if necessary. Null if there is no memory.
  static Collective* take(job::Rank& rank) noexcept;
  ~RankEngine();

  void give_back(Collective* collective) noexcept;

  // Adds a node of one of the rank's collectives that waits for the rank.
  void keep_node(NodeState& node) noexcept;
  bool has_kept_nodes() const noexcept {
    return !kept_.is_empty();  // a hint
  }
  // Takes all of them, the oldest first.
  NodeState* take_kept_nodes() noexcept;
  // Differs from an earlier value if nodes have been added since. Only compare the pointer: its
  // node may be freed. Caller: any.
  const void* newest_kept() const noexcept { return kept_.top(); }
  OverdueItem overdue;

  // Nodes with a user's function, and whether one is running: see nbc/engine/user_code.h.
  // Caller: executions that act as the rank; of keep_user_node(): any.
  // All seq_cst: either the execution that leaves sees the pushed node, or the one that pushed it
  // can enter.
  void keep_user_node(NodeState& node) noexcept;
  NodeState* take_user_nodes() noexcept;
  bool has_user_nodes() const noexcept {
    return !user_.is_empty(std::memory_order_seq_cst);
  }
  bool enter_user_code() noexcept {
    sched::Execution* nobody = nullptr;
    return in_user_code_.compare_exchange_strong(nobody, &sched::Execution::self(),
                                                 std::memory_order_seq_cst);
  }
  void leave_user_code() noexcept {
    in_user_code_.store(nullptr, std::memory_order_seq_cst);
  }
  // Relaxed: only the caller itself can have stored its address there.
  bool is_in_user_code_here() const noexcept {
    return in_user_code_.load(std::memory_order_relaxed) == &sched::Execution::self();
  }

  // Ready nodes of any ranks' collectives that another rank's start hands to this rank: a
  // chain by next_ready. While a HandOffScope lives, forget_rank() waits.
  class HandOffScope {
   public:
    // Caller: holds a node of the rank that is not complete, so the rank cannot end.
    explicit HandOffScope(RankEngine& to) noexcept : to_(to) {
      to_.hand_offs_.fetch_add(1, std::memory_order_relaxed);
    }
    // Release pairs with await_hand_offs(): the last touch.
    ~HandOffScope() { to_.hand_offs_.fetch_sub(1, std::memory_order_release); }
    HandOffScope(const HandOffScope&) = delete;
    HandOffScope& operator=(const HandOffScope&) = delete;
    void push(NodeState& first, NodeState& last) noexcept;

   private:
    RankEngine& to_;
  };
  bool has_handed_over() const noexcept {
    return !handed_over_.is_empty();  // a hint
  }
  NodeState* take_handed_over() noexcept { return handed_over_.take_newest_first(); }
  void await_hand_offs() const noexcept;

 private:
  // Null: there is none.
  Collective* take_free() noexcept {
    const Locked locked(lock_);
    Collective* const found = free_;
    if (found != nullptr) free_ = found->next_free;
    return found;
  }

  using NodeStack = MpscStack<NodeState, &NodeState::next_ready>;

  NodeStack kept_, user_, handed_over_;
  std::atomic<sched::Execution*> in_user_code_{nullptr};
  std::atomic<int> hand_offs_{0};
  SpinLock<> lock_;  // contended only by several threads of one rank
  Collective* free_ MPC_GUARDED_BY(lock_) = nullptr;
};

}  // namespace mpc::nbc
