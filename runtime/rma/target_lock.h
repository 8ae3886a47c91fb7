#pragma once
// TargetLock: the lock of one member's part of a window, shared or exclusive, first come first served.
//
// Role:      MPI_Win_lock acquires it. If it is free, or held by readers that one
//            more joins, that costs one compare-and-swap; otherwise the caller
//            queues, and the holder that releases hands it on.
// Users:     runtime/rma.
// Threads:   any execution of any member.
// See also:  docs/design/0026-windows.md, "Locks"; MPI-4.1 section 12.5.3.
//
//   word:  shares (bits 2 ..) | the queue is not empty (1) | held exclusively (0)
//
// While the bit of the queue is set an execution can enter only by the
// queue's mutex, so that neither readers nor writers starve, except for
// kJoin; a holder that releases subtracts without the mutex.

#include <atomic>
#include <cstdint>

#include "base/spin_lock.h"
#include "runtime/job/rank.h"
#include "scheduler/execution.h"

namespace mpc::rma {

// kJoin: shared, for a member that holds another target in
// the same MPI_Win_lock_all. It passes the queue.
// Otherwise there could be a circle: it waits behind a writer there; that writer waits for a
// reader, which waits behind a writer here, which waits for this member. It is released as kShared.
enum class LockType : uint8_t { kShared, kExclusive, kJoin };

// An element of the queue: an execution of this process, or a request of another process.
class LockWaiter {
 public:
  LockWaiter(LockType wanted, int who) noexcept : type(wanted), rank(who) {}
  LockWaiter(const LockWaiter&) = delete;
  // It holds the lock now. Caller: the thread that released it, without the mutex. Switches: no.
  // The object may be destroyed in the call.
  virtual void granted() noexcept = 0;

  const LockType type;
  const int rank;  // in the window
  LockWaiter* next = nullptr;

 protected:
  ~LockWaiter() = default;
};

class TargetLock {
 public:
  // Order of both: acquire, pairs with unlock() of all holders before.
  // False: held by others, or there is a queue.
  bool try_lock(LockType type, int rank) noexcept;
  // True: it is held now; false: `waiter` is in the queue and will be told.
  bool lock_or_queue(LockWaiter& waiter) noexcept;
  // Order: release; a full barrier on x86-64: loads after it do not overtake what was written in
  // the epoch.
  void unlock(LockType type) noexcept;

  // Waits as long as necessary. `why`: for reports. Switches: yes.
  void lock(job::Rank& self, LockType type, int rank, const sched::WaitReason& why);

  // For reports, may be out of date: the rank that holds it
  // exclusively or -1; how many hold it shared.
  int exclusive_holder() const noexcept {
    return holder_.load(std::memory_order_relaxed);
  }
  int64_t shares() const noexcept {
    return static_cast<int64_t>(word_.load(std::memory_order_relaxed) / kShare);
  }

 private:
  static constexpr uint64_t kExclusive = 1, kQueue = 2, kShare = 4;
  static bool may_enter(uint64_t word, LockType type) noexcept {
    return type == LockType::kExclusive ? (word & ~kQueue) == 0
                                        : (word & kExclusive) == 0;
  }
  void hold_queued(LockType type, int rank) noexcept;
  [[gnu::cold]] void hand_over() noexcept;

  std::atomic<uint64_t> word_{0};
  std::atomic<int> holder_{-1};
  SpinLock<> mutex_;
  LockWaiter* first_ MPC_GUARDED_BY(mutex_) = nullptr;
  LockWaiter* last_ MPC_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace mpc::rma
