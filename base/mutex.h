#pragma once
// Mutex: a lock whose waiters sleep, known to clang's thread-safety analysis.
//
// Role:      std::mutex with thread-safety annotations, for locks that are held for longer than
//            some instructions. For shorter times use a SpinLock.
// Users:     scheduler; mpi/objects, mpi/io (PatientGuard).
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

// For a mutex whose holders need a microsecond or less: pauses for some before it sleeps. A thread that has seen what
// the holder has published, and only waits until it has let go, would otherwise sleep nearly every time.
inline void lock_patiently(std::mutex& mutex) noexcept {
  constexpr int kPauses = 200;  // some 2 to 8 us
  for (int i = 0; i < kPauses; ++i) {
    if (mutex.try_lock()) return;
    __builtin_ia32_pause();
  }
  mutex.lock();
}

// std::lock_guard that does so.
class PatientGuard {
 public:
  explicit PatientGuard(std::mutex& mutex) noexcept : mutex_(mutex) {
    lock_patiently(mutex);
  }
  ~PatientGuard() { mutex_.unlock(); }
  PatientGuard(const PatientGuard&) = delete;
  PatientGuard& operator=(const PatientGuard&) = delete;

 private:
  std::mutex& mutex_;
};

}  // namespace mpc
