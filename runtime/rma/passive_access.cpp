// Epochs with locks: MPI_Win_lock, MPI_Win_lock_all, and the calls that end or complete them.

#include <algorithm>

#include "base/check.h"
#include "runtime/rma/access.h"
#include "runtime/rma/lock_lines.h"
#include "runtime/rma/remote_access.h"

namespace mpc::rma {

bool Access::take(int target, LockType type, const sched::WaitReason& why) {
  if (share_.is_elsewhere(target)) [[unlikely]] {
    remote_->lock(target, type);
    if (!is_queued_for(target)) remote_->settle(target, why);
    return true;  // operations wait by themselves
  }
  // Locks are acquired in the order of the calls.
  if (lock_lines::any()) [[unlikely]]
    lock_lines::wait(self_, why);
  TargetLock& lock = share_.target(target).lock;
  // Loads and stores of the own memory do not ask here first.
  if (must_wait_ || target == me_) {
    lock.lock(self_, type, me_, why);
    return true;
  }
  return lock.try_lock(type, me_) || ask(target, type);
}

bool Access::ask(int target, LockType type) {
  // First of all the place in the queue: the lock is fair.
  local_.lock(target, type);
  comes_soon([&] { return !has_queued(); });
  return local_.is_empty(target);
}

Complaint Access::lock(LockType type, int target, bool is_unchecked,
                       const sched::WaitReason& why) {
  make_marks();
  {
    const Locked inside(bookkeeping_);
    if (mode_.load(std::memory_order_relaxed) == Mode::kLocked) {
      if (mark(target) != 0) return "the target is locked already";
    } else if (Complaint complaint = may_begin()) {
      return complaint;
    }
    set_mode(Mode::kLocked);
    ++locked_;
    set_mark(target, kComing);
  }
  int mark = kReady;
  if (!is_unchecked) mark = take(target, type, why) ? kReady | kHeld : kAsked | kHeld;
  if ((mark & kAsked) != 0) set_may_be_later(true);
  if (type == LockType::kExclusive) mark |= kExclusive;
  set_mark(target, static_cast<uint8_t>(mark));
  return nullptr;
}

// The lock is held, and the mark says of what type.
void Access::give_back(int target) noexcept {
  const uint8_t what = mark(target);
  set_mark(target, 0);
  if ((what & kHeld) == 0) return;
  const LockType type =
      (what & kExclusive) != 0 ? LockType::kExclusive : LockType::kShared;
  if (share_.is_elsewhere(target)) [[unlikely]]
    return remote_->unlock(target, type);
  share_.target(target).lock.unlock(type);
}

Complaint Access::unlock(int target) {
  if (mode_.load(std::memory_order_relaxed) != Mode::kLocked ||
      (mark(target) & (kReady | kAsked)) == 0)
    return "the target is not locked";
  DCHECK((mark(target) & kAsked) == 0 || local_.is_empty(target),
         "a lock is released that is not held: before_unlock() was not called");
  const bool is_unchecked = (mark(target) & kHeld) == 0;
  give_back(target);
  if (is_unchecked) settle();
  const Locked inside(bookkeeping_);
  if (--locked_ != 0) return nullptr;
  if (may_be_later()) set_may_be_later(false);
  set_mode(Mode::kNone);
  return nullptr;
}

// For MPI_Win_lock_all, which acquires the lock of a target when it is first needed.
void Access::hold(int target, const sched::WaitReason& why) {
  bookkeeping_.lock();
  const bool is_coming = mark(target) != 0, holds_another = !held_.empty();
  if (!is_coming) {
    set_mark(target, kComing);
    held_.push_back(target);
  }
  bookkeeping_.unlock();
  if (is_coming) {  // another execution of the member was quicker
    while ((mark(target) & (kReady | kAsked)) == 0) sched::Execution::self().yield();
    return;
  }
  int now = kReady;
  if (!all_unchecked_)
    now = take(target, holds_another ? LockType::kJoin : LockType::kShared, why)
              ? kReady | kHeld
              : kAsked | kHeld;
  set_mark(target, static_cast<uint8_t>(now));
}

Complaint Access::lock_all(bool is_unchecked, const sched::WaitReason& why) {
  make_marks();
  {
    const Locked inside(bookkeeping_);
    if (Complaint complaint = may_begin()) return complaint;
    all_unchecked_ = is_unchecked;
    set_may_be_later(true);
    set_mode(Mode::kLockedAll);
  }
  if (is_unchecked) return nullptr;
  // Loads and stores do not ask here first.
  if (!may_share_) {
    hold(me_, why);
    return nullptr;
  }
  for (int target = 0; target < share_.size(); ++target) hold(target, why);
  return nullptr;
}

Complaint Access::unlock_all() {
  if (mode_.load(std::memory_order_relaxed) != Mode::kLockedAll)
    return "MPI_Win_lock_all was not called";
  std::vector<int> held;
  {
    const Locked inside(bookkeeping_);
    held.swap(held_);
  }
  for (const int target : held) give_back(target);
  settle();
  held.clear();
  const Locked inside(bookkeeping_);
  held_.swap(held);  // so that it keeps its memory
  set_may_be_later(false);
  set_mode(Mode::kNone);
  return nullptr;
}

// An exchange with an object of our own, not a fence, which ThreadSanitizer does not know. On x86-64
// it is a full barrier: what the member has written is visible before it loads again.
void Access::settle() noexcept { barrier_.exchange(1, std::memory_order_seq_cst); }

Complaint Access::flush(int target) noexcept {
  if (!is_passive()) return "no target is locked";
  if (mode_.load(std::memory_order_relaxed) == Mode::kLocked &&
      (mark(target) & (kReady | kAsked)) == 0)
    return "the target is not locked";
  settle();
  return nullptr;
}

Complaint Access::flush_all() noexcept {
  if (!is_passive()) return "no target is locked";
  settle();
  return nullptr;
}

void Access::before_unlock(int target, const sched::WaitReason& why) {
  if (!share_.is_elsewhere(target))
    local_.settle(target, why);
  else if (remote_ != nullptr)
    remote_->settle_long(target, why);
}

void Access::before_unlock_all(const sched::WaitReason& why) {
  if (has_queued()) local_.settle_all(why);
  if (remote_ != nullptr) remote_->settle_all_long(why);
}

// A lock is released after what was done under it, and before the answer to a flush that follows.
void Access::finish(int target, bool is_local, const sched::WaitReason& why) {
  if (!share_.is_elsewhere(target)) {
    if (has_queued()) local_.settle(target, why);
    return;
  }
  if (is_local)
    remote_->settle(target, why);
  else
    remote_->flush(target, why);
}

void Access::finish_all(bool is_local, const sched::WaitReason& why) {
  if (has_queued()) local_.settle_all(why);
  if (remote_ == nullptr) return;
  if (is_local)
    remote_->settle_all(why);
  else
    remote_->flush_all(why);
}

}  // namespace mpc::rma
