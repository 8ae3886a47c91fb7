#pragma once
// SpinLock: a lock that is held for some instructions, and what a thread does that finds it held.
//
// Role:      one byte, one exchange. The type of the lock chooses the back-off for its use.
// Users:     scheduler, runtime/message, runtime/interpose, nbc/engine, mpi/objects.
// Threads:   lock() and try_lock() by any thread; unlock() by the one that holds it. The holder
//            neither waits, nor switches, nor allocates.
// See also:  base/mutex.h (held for longer), base/thread_safety.h (Locked).
//
// Which back-off? The holder needs nanoseconds, unless another thread has taken its core:
//
//   PauseThenYield   the usual one: after some pauses the system may run the holder
//   YieldAtOnce      contention is so rare that the lock is probably held by a thread without a core
//   a type of a higher layer, whose once() calls Execution::yield()
//                    where the holder may be a user-level thread that was switched away while it held
//                    the lock: the system does not know which thread to run then, the worker does
//
// Pausing forever is no option: with more threads than cores the holder would wait until the time
// slice of the pausing thread ends.

#include <sched.h>

#include <atomic>

#include "base/thread_safety.h"

namespace mpc {

struct PauseThenYield {
  static constexpr int kPauses = 1000;  // some 10 to 40 us
  void once() noexcept {
    if (++turns < kPauses)
      __builtin_ia32_pause();
    else
      sched_yield();
  }
  int turns = 0;
};

struct YieldAtOnce {
  void once() noexcept { sched_yield(); }
};

// Backoff: a thread that finds the lock held default-constructs it; once() is called before each
// further try.
template <class Backoff = PauseThenYield>
class MPC_CAPABILITY("spin lock") SpinLock {
 public:
  constexpr SpinLock() noexcept = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  // Order: acquire, pairs with unlock(): what the previous holder wrote.
  void lock() noexcept MPC_ACQUIRE() {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  // The same without waiting. It writes the lock's line even in vain: where that matters ask
  // is_locked() first.
  bool try_lock() noexcept MPC_TRY_ACQUIRE(true) {
    return !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept MPC_RELEASE() {
    locked_.store(false, std::memory_order_release);
  }
  // A hint. Acquire: false means that what the last holder wrote is visible.
  bool is_locked(std::memory_order order = std::memory_order_relaxed) const noexcept {
    return locked_.load(order);
  }

 private:
  [[gnu::noinline, gnu::cold]] void wait() noexcept MPC_ACQUIRE() {
    Backoff backoff;
    do {
      backoff.once();
    } while (!try_lock());
  }

  std::atomic<bool> locked_{false};
};

}  // namespace mpc
