// Semaphores and condition variables in which a rank's main thread waits for the rank's threads: it
// parks, so that other ranks of its core run, and the thread that posts
// or signals wakes it. Without this the core would be idle until the
// monitor takes it away (scheduler/monitor.h), each time.
//
// Kernel threads, and objects that are shared between processes, are left to libc.

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/spin_lock.h"
#include "base/thread_safety.h"
#include "runtime/interpose/clock.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/main_thread.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/signals.h"
#include "scheduler/execution.h"
#include "scheduler/worker.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace {

using mpc::interpose::kForEver;
using mpc::sched::Execution;

// A signal handler, or a thread unknown to us, may also end the wait.
struct Reason final : mpc::sched::WaitReason {
  const char* what;
  explicit Reason(const char* name) : what(name) {}
  std::string text() const override { return what; }
  bool can_end_by_itself() const noexcept override { return true; }
};

// A waiter and its object, on the waiter's stack. Guarded
// by the lot's lock while it is in the list.
struct Waiter {
  const void* object;
  Execution* execution = &Execution::self();
  Waiter* next = nullptr;
  std::atomic<bool> is_woken{false};  // release by the waker, acquire by the waiter
};

// The waiters for all objects whose addresses have the same hash.
class alignas(64) Lot {
 public:
  void add(Waiter& waiter) noexcept {
    const mpc::Locked locked(lock_);
    waiter.next = first_;
    first_ = &waiter;
    // seq_cst: before the waiter checks its object again; pairs with has_waiters().
    count_.fetch_add(1, std::memory_order_seq_cst);
  }
  // False: it had been woken.
  bool remove(Waiter& waiter) noexcept {
    const mpc::Locked locked(lock_);
    return unlink([&](const Waiter& one) { return &one == &waiter; }) != nullptr;
  }
  // Caller: after the object has changed.
  bool has_waiters() const noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return count_.load(std::memory_order_relaxed) != 0;
  }
  // Wakes one of the waiters for `object`. False: there is none.
  bool wake(const void* object) noexcept {
    const mpc::Locked locked(lock_);
    return wake_locked(object);
  }
  // The same if a signal handler may be the caller, and may have interrupted the thread that
  // holds the lock: false also if the lock could not be acquired.
  bool try_wake(const void* object) noexcept {
    constexpr int kYields = 10;  // to a holder that has lost its core
    mpc::PauseThenYield backoff;
    for (int left = mpc::PauseThenYield::kPauses + kYields; !lock_.try_lock(); --left) {
      if (left == 0) return false;
      backoff.once();
    }
    const bool has_woken = wake_locked(object);
    lock_.unlock();
    return has_woken;
  }

 private:
  bool wake_locked(const void* object) noexcept MPC_REQUIRES(lock_) {
    Waiter* waiter = unlink([&](const Waiter& one) { return one.object == object; });
    if (waiter == nullptr) return false;
    Execution* execution = waiter->execution;  // the waiter may return right away
    waiter->is_woken.store(true, std::memory_order_release);
    execution->unpark();
    return true;
  }
  template <typename IsWanted>
  Waiter* unlink(IsWanted is_wanted) noexcept MPC_REQUIRES(lock_) {
    for (Waiter** link = &first_; *link != nullptr; link = &(*link)->next) {
      Waiter* found = *link;
      if (!is_wanted(*found)) continue;
      *link = found->next;
      count_.fetch_sub(1, std::memory_order_relaxed);
      return found;
    }
    return nullptr;
  }

  mpc::SpinLock<> lock_;
  std::atomic<int> count_{0};
  Waiter* first_ MPC_GUARDED_BY(lock_) = nullptr;
};

constinit std::array<Lot, 256> g_lots{};

Lot& lot_of(const void* object) noexcept {
  return g_lots[(reinterpret_cast<uintptr_t>(object) >> 4) * 0x9E3779B97F4A7C15u >> 56];
}

// A child that a rank forked has its parent's waiters, which do not exist there.
bool may_wake(const Lot& lot) noexcept {
  return mpc::interpose::g_is_ready && lot.has_waiters() &&
         !mpc::interpose::is_forked_child();
}

// Only for a rank's main thread it is worth the effort.
bool is_main_thread() noexcept {
  return mpc::interpose::g_is_ready && mpc::loader::running_instance() != nullptr &&
         Execution::self().is_ult() && !mpc::interpose::is_forked_child();
}

// Parks until the waiter, which is in the lot, is woken. False: the time was over first; then it is
// no longer in the lot.
bool park(Lot& lot, Waiter& waiter, uint64_t deadline_ns,
          const Reason& reason) noexcept {
  while (!waiter.is_woken.load(std::memory_order_acquire)) {
    // The thread that is waited for may need this core at once.
    waiter.execution->worker()->note_spun();
    if (deadline_ns == kForEver)
      waiter.execution->park(reason);
    else if (!waiter.execution->park_until(deadline_ns, reason) && lot.remove(waiter))
      return false;
  }
  return true;
}

// ---- semaphores

// Source: glibc 2.36, struct new_sem: the second word of 8 bytes begins with 0 in a private one.
bool is_private(const sem_t* semaphore) noexcept {
  int shared = 0;
  std::memcpy(&shared, reinterpret_cast<const char*>(semaphore) + 8, sizeof shared);
  return shared == 0;
}

// Checks again from time to time: a signal handler may have posted, which cannot wake it.
int wait_for(sem_t* semaphore, uint64_t deadline_ns) noexcept {
  constexpr uint64_t kFirstPauseNs = 1'000'000, kLongestPauseNs = 100'000'000;
  const Reason reason("sem_wait");
  Lot& lot = lot_of(semaphore);
  const mpc::job::Rank* rank = mpc::interpose::own_rank();
  const auto interruptions = [rank] {
    return rank != nullptr ? mpc::interpose::interruptions_of(*rank) : 0;
  };
  const uint32_t at_begin = interruptions();
  for (uint64_t pause = kFirstPauseNs;; pause = std::min(2 * pause, kLongestPauseNs)) {
    if (NEXT(sem_trywait)(semaphore) == 0) return 0;
    if (errno != EAGAIN) return -1;
    const uint64_t now = mpc::sched::now_ns();
    if (now >= deadline_ns || interruptions() != at_begin) {
      errno = now >= deadline_ns ? ETIMEDOUT : EINTR;
      return -1;
    }
    Waiter waiter{semaphore};
    lot.add(waiter);
    if (NEXT(sem_trywait)(semaphore) == 0) {
      // A thread that has woken it meanwhile did so for a post that another waiter may take now.
      if (!lot.remove(waiter)) lot.wake(semaphore);
      return 0;
    }
    if (errno != EAGAIN) {
      lot.remove(waiter);
      return -1;
    }
    park(lot, waiter, std::min(deadline_ns, now + pause), reason);
  }
}

// ---- condition variables

// Source: glibc 2.36, pthread_cond_common.c: the lowest bits of __wrefs.
bool is_shared(const pthread_cond_t* condition) noexcept {
  return (condition->__data.__wrefs & 1) != 0;
}
clockid_t clock_of(const pthread_cond_t* condition) noexcept {
  return (condition->__data.__wrefs & 2) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

int wait_for(pthread_cond_t* condition, pthread_mutex_t* mutex, uint64_t deadline_ns) {
  const Reason reason("pthread_cond_wait");
  Lot& lot = lot_of(condition);
  Waiter waiter{condition};
  lot.add(waiter);  // before the mutex is released: no signal can be missed
  if (const int error = pthread_mutex_unlock(mutex); error != 0) {
    lot.remove(waiter);
    return error;
  }
  const bool is_woken = park(lot, waiter, deadline_ns, reason);
  if (const int error = pthread_mutex_lock(mutex); error != 0) return error;
  return is_woken ? 0 : ETIMEDOUT;
}

bool is_ours(const pthread_cond_t* condition) noexcept {
  return is_main_thread() && !is_shared(condition);
}

}  // namespace

MPC_EXPORT int sem_wait(sem_t* semaphore) {
  if (!is_main_thread() || !is_private(semaphore)) return NEXT(sem_wait)(semaphore);
  return wait_for(semaphore, kForEver);
}
MPC_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* time) {
  const uint64_t deadline_ns = mpc::interpose::deadline_of(clock, time);
  if (deadline_ns == 0 || !is_main_thread() || !is_private(semaphore))
    return NEXT(sem_clockwait)(semaphore, clock, time);
  return wait_for(semaphore, deadline_ns);
}
MPC_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* time) {
  const uint64_t deadline_ns = mpc::interpose::deadline_of(CLOCK_REALTIME, time);
  if (deadline_ns == 0 || !is_main_thread() || !is_private(semaphore))
    return NEXT(sem_timedwait)(semaphore, time);
  return wait_for(semaphore, deadline_ns);
}
// Also called in signal handlers, which may interrupt a scheduler at work: so only kernel threads
// without a worker wake others, and none waits for a lock.
MPC_EXPORT int sem_post(sem_t* semaphore) noexcept {
  const int result = NEXT(sem_post)(semaphore);
  Lot& lot = lot_of(semaphore);
  if (result == 0 && may_wake(lot) && Execution::self().worker() == nullptr)
    lot.try_wake(semaphore);
  return result;
}

MPC_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (!is_ours(condition)) return NEXT(pthread_cond_wait)(condition, mutex);
  return wait_for(condition, mutex, kForEver);
}
MPC_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                      const timespec* time) {
  if (!is_ours(condition)) return NEXT(pthread_cond_timedwait)(condition, mutex, time);
  const uint64_t deadline_ns = mpc::interpose::deadline_of(clock_of(condition), time);
  if (deadline_ns == 0) return NEXT(pthread_cond_timedwait)(condition, mutex, time);
  return wait_for(condition, mutex, deadline_ns);
}
MPC_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                      clockid_t clock, const timespec* time) {
  if (!is_ours(condition))
    return NEXT(pthread_cond_clockwait)(condition, mutex, clock, time);
  const uint64_t deadline_ns = mpc::interpose::deadline_of(clock, time);
  if (deadline_ns == 0)
    return NEXT(pthread_cond_clockwait)(condition, mutex, clock, time);
  return wait_for(condition, mutex, deadline_ns);
}
// It may wake one of ours and one of libc's: a wait may end without a reason (POSIX). Libc first:
// the condition variable may be destroyed when one of ours has been woken.
MPC_EXPORT int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  const int result = NEXT(pthread_cond_signal)(condition);
  Lot& lot = lot_of(condition);
  if (may_wake(lot)) lot.wake(condition);
  return result;
}
MPC_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  const int result = NEXT(pthread_cond_broadcast)(condition);
  Lot& lot = lot_of(condition);
  while (may_wake(lot) && lot.wake(condition)) {
  }
  return result;
}
