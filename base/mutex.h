#pragma once
// Mutex: a lock whose waiters sleep, known to clang's thread-safety analysis.
//
// Role:      std::mutex with thread-safety annotations, for locks that are held for longer than
//            some instructions. For shorter times use a SpinLock.
// Users:     scheduler.
// Threads:   any kernel thread or user-level thread. No lock is held over a context switch.
// See also:  base/spin_lock.h, base/thread_safety.h.

#include <mutex>

#include "base/thread_safety.h"

namespace mpc {

class MPC_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() MPC_ACQUIRE() { mutex_.lock(); }
  bool try_lock() MPC_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() noexcept MPC_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace mpc
