#include "runtime/rma/target_lock.h"

#include <utility>

#include "runtime/message/message.h"
#include "scheduler/origin.h"

namespace mpc::rma {

bool TargetLock::try_lock(LockType type, int rank) noexcept {
  if (type == LockType::kExclusive) {
    uint64_t free = 0;
    if (!word_.compare_exchange_strong(free, kExclusive, std::memory_order_acquire,
                                       std::memory_order_relaxed))
      return false;
    holder_.store(rank, std::memory_order_relaxed);
    return true;
  }
  uint64_t word = word_.load(std::memory_order_relaxed);
  while ((word & (kExclusive | kQueue)) == 0) {
    if (word_.compare_exchange_weak(word, word + kShare, std::memory_order_acquire,
                                    std::memory_order_relaxed))
      return true;
  }
  return false;
}

// Called with the mutex, and the bit of the queue set: holders
// may release meanwhile, none may enter.
void TargetLock::hold_queued(LockType type, int rank) noexcept {
  if (type == LockType::kExclusive) {
    word_.fetch_or(kExclusive, std::memory_order_acq_rel);
    holder_.store(rank, std::memory_order_relaxed);
  } else {
    word_.fetch_add(kShare, std::memory_order_acq_rel);
  }
}

bool TargetLock::lock_or_queue(LockWaiter& waiter) noexcept {
  const Locked inside(mutex_);
  // acq_rel pairs with unlock(). From here on holders that release
  // call hand_over(), and wait there for the mutex.
  const uint64_t word = word_.fetch_or(kQueue, std::memory_order_acq_rel);
  const bool may_pass = waiter.type == LockType::kJoin;
  if ((first_ == nullptr || may_pass) && may_enter(word, waiter.type)) {
    hold_queued(waiter.type, waiter.rank);
    if (first_ == nullptr) word_.fetch_and(~kQueue, std::memory_order_relaxed);
    return true;
  }
  if (first_ == nullptr) {
    first_ = last_ = &waiter;
  } else if (may_pass) {
    waiter.next = std::exchange(first_, &waiter);
  } else {
    last_ = last_->next = &waiter;
  }
  return false;
}

void TargetLock::unlock(LockType type) noexcept {
  if (type == LockType::kShared) {
    // acq_rel: the last one hands on what all of them wrote.
    const uint64_t word = word_.fetch_sub(kShare, std::memory_order_acq_rel);
    if ((word & kQueue) != 0 && word / kShare == 1) [[unlikely]]
      hand_over();
    return;
  }
  holder_.store(-1, std::memory_order_relaxed);
  if ((word_.fetch_and(~kExclusive, std::memory_order_acq_rel) & kQueue) != 0)
      [[unlikely]]
    hand_over();
}

void TargetLock::hand_over() noexcept {
  LockWaiter* granted = nullptr;
  LockWaiter** end = &granted;
  {
    const Locked inside(mutex_);
    // Acquire pairs with unlock(): the next holder sees what the last ones wrote.
    while (first_ != nullptr &&
           may_enter(word_.load(std::memory_order_acquire), first_->type)) {
      LockWaiter* const next = first_;
      first_ = next->next;
      next->next = nullptr;
      hold_queued(next->type, next->rank);
      *end = next;
      end = &next->next;
    }
    if (first_ == nullptr) word_.fetch_and(~kQueue, std::memory_order_relaxed);
  }
  while (granted != nullptr) {
    LockWaiter* const next = granted->next;  // it may be destroyed in the call
    granted->granted();
    granted = next;
  }
}

namespace {

// On the waiter's stack. A user-level thread outlives the job's ranks, so its object may be
// destroyed before the thread is unparked, and a late unpark is just one permit too many. A kernel
// thread may exit after its wait, so the object exists until the thread has been unparked.
class ExecutionWaiter final : public LockWaiter {
 public:
  using LockWaiter::LockWaiter;

  void granted() noexcept override {
    sched::Execution& execution = execution_;
    const bool is_ult = execution.is_ult();
    // Release: what hand_over() has acquired; pairs with is_granted() and wait_for_end().
    state_.store(is_ult ? kOver : kGranted, std::memory_order_release);
    if (is_ult) return sched::unpark_at_origin(execution);
    execution.unpark();
    state_.store(kOver, std::memory_order_release);
  }
  bool is_granted() const noexcept {
    return state_.load(std::memory_order_acquire) != kWaits;
  }
  void wait_for_end() const noexcept {
    while (state_.load(std::memory_order_acquire) != kOver) execution_.yield();
  }

 private:
  enum State : uint8_t { kWaits, kGranted, kOver };
  sched::Execution& execution_ = sched::Execution::self();
  std::atomic<State> state_{kWaits};
};

}  // namespace

void TargetLock::lock(job::Rank& self, LockType type, int rank,
                      const sched::WaitReason& why) {
  if (try_lock(type, rank)) return;
  ExecutionWaiter waiter(type, rank);
  if (lock_or_queue(waiter)) return;
  // The thread that grants it always unparks: nothing has to be armed.
  msg::wait_for(self,
                {[](void* w) { return static_cast<ExecutionWaiter*>(w)->is_granted(); },
                 [](void*, sched::Execution&) {}, [](void*) {}, &waiter},
                why);
  waiter.wait_for_end();
}

}  // namespace mpc::rma
