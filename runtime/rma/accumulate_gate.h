#pragma once
// AccumulateGate: whether the elements of a window are changed one by one, or by whoever holds their target's lock.
//
// Role:      single elements are changed by the processor, without a lock; for many that takes 6 ns each. So from
//            the first long operation on, each operation of the window takes the lock of its target, and
//            needs no atomics. The gate is open before, closed afterwards, and never opens again.
// Users:     runtime/rma, mpi/rma.
// Threads:   any.
// See also:  docs/design/0053-long-accumulates.md (why nothing is lost at the change), runtime/rma/accumulate.h.

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "base/spin_lock.h"

namespace mpc::rma {

class AccumulateGate {
 public:
  // Who changes elements of whose memory; both are members of the window.
  struct Passage {
    AccumulateGate& gate;
    int target;
    int origin;
    // The origin's main execution, which is at one place at a time. Otherwise any thread.
    bool is_main;
  };

  explicit AccumulateGate(int members);
  AccumulateGate(const AccumulateGate&) = delete;

  // For memory that other processes change as well, by the processor's atomics. Caller: before
  // the first operation.
  void keep_open() noexcept {
    state_.store(State::kStaysOpen, std::memory_order_relaxed);
  }
  // True: every operation takes its target's lock. Order: acquire.
  bool is_closed() const noexcept {
    return state_.load(std::memory_order_acquire) == State::kClosed;
  }
  // Closes it, and waits until nobody is inside. False: it stays open. Cost: a membarrier and a
  // look at each member, once in the life of a window. Switches: no. Caller: not inside.
  bool close() noexcept;
  SpinLock<>& lock_of(int target) noexcept {
    return members_[static_cast<size_t>(target)].lock;
  }

  // Calls change(), which changes elements by the processor's atomics or stripes: under the lock unless the gate
  // is open. Cost of an open gate: 1 ns.
  template <class Change>
  [[gnu::always_inline]] static void pass(const Passage& who, Change&& change) {
    Member& origin = who.gate.members_[static_cast<size_t>(who.origin)];
    bool is_open = false;
    if (who.is_main) [[likely]] {
      origin.inside.store(1, std::memory_order_relaxed);
      // The membarrier in close() orders this store before the load; here only the compiler must
      // be kept from reordering them.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      is_open = who.gate.is_open();
      if (is_open) [[likely]]
        change();
      origin.inside.store(0, std::memory_order_release);  // pairs with close()
    } else {
      origin.others_inside.fetch_add(1, std::memory_order_seq_cst);
      is_open = who.gate.is_open();
      if (is_open) change();
      origin.others_inside.fetch_sub(1, std::memory_order_release);  // likewise
    }
    if (is_open) [[likely]]
      return;
    const Locked lock(who.gate.lock_of(who.target));
    change();
  }

 private:
  enum class State : uint8_t { kOpen, kStaysOpen, kClosing, kClosed };

  struct Member {
    // As an origin: its main execution, its other threads.
    alignas(64) std::atomic<uint32_t> inside{0};
    std::atomic<uint32_t> others_inside{0};
    alignas(64) SpinLock<> lock;  // as a target
  };

  bool is_open() const noexcept {
    return state_.load(std::memory_order_seq_cst) < State::kClosing;
  }

  std::atomic<State> state_{State::kOpen};
  const int count_;
  const std::unique_ptr<Member[]> members_;
  Mutex closing_;
};

}  // namespace mpc::rma
