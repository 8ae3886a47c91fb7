// Epochs without locks: fence, post, start, complete, wait.

#include "runtime/rma/access.h"

#include "runtime/job/job.h"
#include "runtime/message/message.h"
#include "runtime/rma/remote_access.h"

namespace mpc::rma {

const char kLater[] = "operations wait for a lock or a post";

namespace {

bool outnumber_cores(const job::Rank& rank) noexcept {
  return rank.job != nullptr &&
         rank.job->local_ranks().size() > rank.job->application_workers();
}

}  // namespace

Access::Access(WindowShare& share, int me, job::Rank& self, bool may_share)
    : share_(share),
      self_(self),
      me_(me),
      may_share_(may_share),
      must_wait_(may_share || outnumber_cores(self)),
      local_(share, me, self) {
  if (share.span() != nullptr)
    remote_ = std::make_unique<RemoteAccess>(share, me, self);
  set_may_be_later(false);
  // seq_cst: a member that posts earlier does not see it, and this one sees the post.
  share.target(me).queue.store(&local_, std::memory_order_seq_cst);
}

Access::~Access() {
  share_.target(me_).queue.store(nullptr, std::memory_order_relaxed);
  delete[] marks_.load(std::memory_order_relaxed);
}

void Access::make_marks() {
  if (marks_.load(std::memory_order_acquire) != nullptr) return;
  const auto lines = static_cast<size_t>(share_.size()) / Marks::kCount + 1;
  auto made = std::make_unique<Marks[]>(lines);
  Marks* none = nullptr;
  // Release pairs with mark().
  if (marks_.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel))
    (void)made.release();
}

Complaint Access::may_begin() const noexcept {
  switch (mode_.load(std::memory_order_relaxed)) {
    case Mode::kNone:
    case Mode::kFenceOpen:
      return nullptr;
    case Mode::kFenceComing:
      if (!is_fence_used_) return nullptr;
      [[fallthrough]];
    case Mode::kFenceUsed:
      return "the epoch of MPI_Win_fence, which has operations, has not ended";
    case Mode::kStarted:
      return "the epoch of MPI_Win_start has not ended (MPI_Win_complete)";
    case Mode::kLocked:
      return "the window is locked (MPI_Win_unlock)";
    case Mode::kLockedAll:
      return "the window is locked (MPI_Win_unlock_all)";
  }
  return nullptr;
}

Complaint Access::reach_slowly(int target, const sched::WaitReason& why) {
  switch (mode_.load(std::memory_order_relaxed)) {
    case Mode::kFenceOpen:
      set_mode(Mode::kFenceUsed);
      return nullptr;
    case Mode::kFenceUsed:
      return nullptr;
    case Mode::kFenceComing:
      is_fence_used_ = true;
      // Operations elsewhere wait by themselves.
      if (!is_queued_for(target)) await_fence(why);
      return nullptr;
    case Mode::kStarted:
      if ((mark(target) & kInGroup) == 0)
        return "the target is not in the group of MPI_Win_start";
      if ((mark(target) & kAsked) != 0) return reach_asked(target, why);
      if (take_post(target, why)) {
        set_mark(target, kInGroup | kReady);
        return nullptr;
      }
      set_mark(target, kInGroup | kAsked);
      return kLater;
    case Mode::kLocked:
      if ((mark(target) & kAsked) == 0) return "the target is not locked";
      return reach_asked(target, why);
    case Mode::kLockedAll:
      if ((mark(target) & kAsked) == 0) hold(target, why);
      return (mark(target) & kReady) != 0 ? nullptr : reach_asked(target, why);
    case Mode::kNone:
      break;
  }
  return "no epoch has begun (MPI_Win_fence, MPI_Win_start or MPI_Win_lock)";
}

// The target's lock or post was asked for. Another execution may do the same.
Complaint Access::reach_asked(int target, const sched::WaitReason& why) {
  if (local_.must_settle(target)) local_.settle(target, why);
  if (!local_.is_empty(target)) return kLater;
  set_mark(target, static_cast<uint8_t>((mark(target) & ~kAsked) | kReady));
  return nullptr;
}

Wants Access::wants(int target) {
  if (share_.is_elsewhere(target)) return remote_->wants(target);
  return local_.wants(target);
}

// ---- fence ---------------------------------------------------------------------------------------

Complaint Access::before_fence() const noexcept {
  if (is_posted_) return "the epoch of MPI_Win_post has not ended (MPI_Win_wait)";
  if (mode_.load(std::memory_order_relaxed) == Mode::kFenceUsed) return nullptr;
  return may_begin();
}

void Access::after_fence(bool may_follow) noexcept {
  set_mode(may_follow ? Mode::kFenceOpen : Mode::kNone);
}

bool Access::may_fence_later() const noexcept {
  const Mode mode = mode_.load(std::memory_order_relaxed);
  return remote_ != nullptr && !may_share_ &&
         (mode == Mode::kNone || mode == Mode::kFenceOpen);
}

void Access::begin_fence() {
  remote_->begin_fence();
  is_fence_used_ = false;
  set_mode(Mode::kFenceComing);
}

void Access::end_fence() { remote_->end_fence(); }

void Access::await_fence(const sched::WaitReason& why) {
  remote_->await_fence(why);
  set_mode(is_fence_used_ ? Mode::kFenceUsed : Mode::kFenceOpen);
}

// ---- post, start, complete, wait -------------------------------------------------------------------

Complaint Access::post(std::span<const int> origins) {
  if (is_posted_) return "the epoch of the last MPI_Win_post has not ended";
  Target& mine = share_.target(me_);
  // Relaxed: origins see it after they have taken the post, which is a release.
  mine.expected.fetch_add(origins.size(), std::memory_order_relaxed);
  is_posted_ = true;
  for (const int origin : origins) {
    if (share_.is_elsewhere(origin)) [[unlikely]] {
      remote_->post(origin);
      continue;
    }
    Target& its = share_.target(origin);
    its.posts.post(me_);
    if (LocalQueue* queue = its.queue.load(std::memory_order_seq_cst))
      queue->note_post(me_);
  }
  return nullptr;
}

Complaint Access::start(std::span<const int> targets) {
  if (Complaint complaint = may_begin()) return complaint;
  make_marks();
  group_.assign(targets.begin(), targets.end());
  for (const int target : group_) set_mark(target, kInGroup);
  set_may_be_later(true);
  set_mode(Mode::kStarted);
  return nullptr;
}

bool Access::take_post(int target, const sched::WaitReason& why) {
  if (is_queued_for(target)) [[unlikely]] {
    remote_->start(target);
    return true;  // operations wait by themselves
  }
  PostBoard& board = share_.target(me_).posts;
  if (must_wait_ || share_.is_elsewhere(target)) {
    board.wait_and_take(target, self_, why);
    return true;
  }
  comes_soon([&] { return board.is_posted(target); });
  return local_.start(target);
}

Complaint Access::complete(const sched::WaitReason& why) {
  if (mode_.load(std::memory_order_relaxed) != Mode::kStarted)
    return "MPI_Win_start was not called";
  // All are asked before one is waited for.
  for (const int target : group_)
    if ((mark(target) & (kReady | kAsked)) == 0 && is_queued_for(target))
      remote_->start(target);
  for (const int target : group_)
    if ((mark(target) & (kReady | kAsked)) == 0 && !is_queued_for(target) &&
        !take_post(target, why))
      set_mark(target, kInGroup | kAsked);
  for (const int target : group_) {
    const bool is_asked = (mark(target) & kAsked) != 0;
    set_mark(target, 0);
    if (share_.is_elsewhere(target)) [[unlikely]]
      remote_->complete(target, why);
    else if (is_asked)
      local_.complete(target, why);
    else
      share_.target(target).note_completed();
  }
  group_.clear();
  set_may_be_later(false);
  set_mode(Mode::kNone);
  return nullptr;
}

namespace {

// seq_cst: either the last origin's wake() sees the waiter, or the waiter sees its number.
bool all_completed(const Target& target) noexcept {
  return target.completed.load(std::memory_order_seq_cst) >=
         target.expected.load(std::memory_order_relaxed);  // own
}

}  // namespace

Complaint Access::wait(const sched::WaitReason& why) {
  if (!is_posted_) return "MPI_Win_post was not called";
  Target& mine = share_.target(me_);
  if (!all_completed(mine)) {
    msg::wait_for(self_,
                  {[](void* t) { return all_completed(*static_cast<Target*>(t)); },
                   [](void* t, sched::Execution& waiter) {
                     static_cast<Target*>(t)->exposure.arm(waiter);
                   },
                   [](void* t) { static_cast<Target*>(t)->exposure.disarm(); }, &mine},
                  why);
  }
  is_posted_ = false;
  return nullptr;
}

Complaint Access::test(bool* is_over) {
  if (!is_posted_) return "MPI_Win_post was not called";
  *is_over = all_completed(share_.target(me_));
  if (*is_over) {
    is_posted_ = false;
  } else {
    msg::relax(self_);
  }
  return nullptr;
}

Complaint Access::before_free() const noexcept {
  if (is_posted_) return "the epoch of MPI_Win_post has not ended (MPI_Win_wait)";
  if (mode_.load(std::memory_order_relaxed) == Mode::kFenceUsed) return nullptr;
  return may_begin();
}

}  // namespace mpc::rma
