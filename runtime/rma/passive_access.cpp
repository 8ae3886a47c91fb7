// Epochs with locks: MPI_Win_lock, MPI_Win_lock_all, and the calls that end or complete them.

#include <algorithm>

#include "runtime/rma/access.h"
#include "runtime/rma/lock_lines.h"
#include "runtime/rma/remote_access.h"

namespace mpc::rma {

void Access::take(int target, LockType type, const sched::WaitReason& why) {
  if (share_.is_elsewhere(target)) [[unlikely]] {
    remote_->lock(target, type);
    if (!is_queued_for(target)) remote_->settle(target, why);
    return;
  }
  // Locks are acquired in the order of the calls.
  if (lock_lines::any()) [[unlikely]]
    lock_lines::wait(self_, why);
  share_.target(target).lock.lock(self_, type, me_, why);
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
  if (!is_unchecked) take(target, type, why);
  int mark = is_unchecked ? kReady : kReady | kHeld;
  if (type == LockType::kExclusive) mark |= kExclusive;
  set_mark(target, static_cast<uint8_t>(mark));
  return nullptr;
}

// The mark is `kReady` and says what was acquired.
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
      (mark(target) & kReady) == 0)
    return "the target is not locked";
  const bool is_unchecked = (mark(target) & kHeld) == 0;
  give_back(target);
  if (is_unchecked) settle();
  const Locked inside(bookkeeping_);
  if (--locked_ == 0) set_mode(Mode::kNone);
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
    while ((mark(target) & kReady) == 0) sched::Execution::self().yield();
    return;
  }
  if (!all_unchecked_)
    take(target, holds_another ? LockType::kJoin : LockType::kShared, why);
  set_mark(target, static_cast<uint8_t>(all_unchecked_ ? kReady : kReady | kHeld));
}

Complaint Access::lock_all(bool is_unchecked, const sched::WaitReason& why) {
  make_marks();
  {
    const Locked inside(bookkeeping_);
    if (Complaint complaint = may_begin()) return complaint;
    all_unchecked_ = is_unchecked;
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
  set_mode(Mode::kNone);
  return nullptr;
}

// An exchange with an object of our own, not a fence, which ThreadSanitizer does not know. On x86-64
// it is a full barrier: what the member has written is visible before it loads again.
void Access::settle() noexcept { barrier_.exchange(1, std::memory_order_seq_cst); }

Complaint Access::flush(int target) noexcept {
  if (!is_passive()) return "no target is locked";
  if (mode_.load(std::memory_order_relaxed) == Mode::kLocked &&
      (mark(target) & kReady) == 0)
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
  if (remote_ != nullptr && share_.is_elsewhere(target))
    remote_->settle_long(target, why);
}

void Access::before_unlock_all(const sched::WaitReason& why) {
  if (remote_ != nullptr) remote_->settle_all_long(why);
}

// A lock is released after what was done under it, and before the answer to a flush that follows.
void Access::finish(int target, bool is_local, const sched::WaitReason& why) {
  if (!share_.is_elsewhere(target)) return;
  if (is_local)
    remote_->settle(target, why);
  else
    remote_->flush(target, why);
}

void Access::finish_all(bool is_local, const sched::WaitReason& why) {
  if (remote_ == nullptr) return;
  if (is_local)
    remote_->settle_all(why);
  else
    remote_->flush_all(why);
}

}  // namespace mpc::rma
