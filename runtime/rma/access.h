#pragma once
// Access: what one member may do with a window now, and the start and end of its epochs.
//
// Role:      the states of MPI's epochs: fence, post and start, locks. Each operation asks here first.
// Users:     mpi/objects (one in each window handle), mpi/rma.
// Threads:   executions of the member; several may lock and unlock different targets at once
//            (MPI_THREAD_MULTIPLE), other synchronisations are the program's to order.
// See also:  docs/design/0026-windows.md; MPI-4.1 section 12.5.
//
//              fence                         first operation
//   kNone <------------> kFenceOpen -------------------------> kFenceUsed (until the next fence)
//     ^  ^                  | | |
//     |  +-- unlock,        | | +-- start --> kStarted -- complete --> kNone
//     |      unlock_all ----+ +---- lock ---> kLocked     (several targets) -- last unlock --> kNone
//     +-------------------------- lock_all -> kLockedAll                    -- unlock_all --> kNone
//
// A fence without a following operation leaves kFenceOpen, which any other epoch may replace. kFenceComing is kFenceOpen or
// kFenceUsed, but not all members have come to the fence.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/spin_lock.h"
#include "runtime/rma/local_queue.h"
#include "runtime/rma/window_share.h"

namespace mpc::rma {

class RemoteAccess;

// Why a call is not allowed now (MPI_ERR_RMA_SYNC); null: it is allowed.
using Complaint = const char*;
// The operation is allowed, and must wait: push().
extern const char kLater[];

class alignas(64) Access {  // written in each epoch
 public:
  // `may_share`: the members load and store in each other's memory, so that MPI_Win_lock_all locks
  // all of it.
  Access(WindowShare& share, int me, job::Rank& self, bool may_share);
  ~Access();
  Access(const Access&) = delete;

  // --- operations --------------------------------------------------------------------------------
  // Called before each. kLater: it must wait for a post or a lock of a target in the own process; operations on others wait
  // by themselves (remote()).
  // Switches: in windows of shared memory, and if a queue is full. Cost: three loads.
  Complaint reach(int target, const sched::WaitReason& why) {
    if (mode_.load(std::memory_order_relaxed) == Mode::kFenceUsed) return nullptr;
    if ((mark(target) & kReady) != 0) [[likely]]
      return nullptr;
    return reach_slowly(target, why);
  }
  // False: no target is elsewhere, and reach() does not return kLater. Cost: a load.
  bool may_be_later() const noexcept {
    return may_be_later_.load(std::memory_order_relaxed);
  }
  // After kLater, with the operation: see LocalQueue.
  void push(int target, LocalOperation operation, LocalQueue::IsOver* later) {
    local_.push(target, std::move(operation), later);
  }
  // Does anything wait for a target in the own process?
  bool has_queued() const noexcept { return !local_.is_empty(); }
  Wants wants(int target);
  // For accumulates of the calling execution.
  AccumulateGate::Passage passage(int target) noexcept {
    const bool is_main = self_.execution == &sched::Execution::self();
    return {share_.gate(), target, me_, is_main};
  }
  // Operations with requests are for locks only (MPI-4.1 section 12.3.5).
  bool is_passive() const noexcept {
    const Mode mode = mode_.load(std::memory_order_relaxed);
    return mode == Mode::kLocked || mode == Mode::kLockedAll;
  }

  // --- fence: the layer above has the barrier ------------------------------------------------------
  Complaint before_fence() const noexcept;
  void after_fence(bool may_follow) noexcept;
  // A fence that no operations precede, with members in other processes, need not wait for them: operations wait, and
  // go when all have come. begin_fence() instead of after_fence(); end_fence() is called, once, when all members have come.
  // Caller of end_fence(): any, before await_fence() lets the member go on.
  bool may_fence_later() const noexcept;
  // Ranks outnumber the cores: a call that need not wait gives the core away once, so that others of the core come, too.
  bool must_give_way() const noexcept { return must_wait_; }
  void begin_fence();
  void end_fence();
  // Called before any other call that begins or ends an epoch, if there is such a fence. Switches: yes.
  bool has_coming_fence() const noexcept {
    return mode_.load(std::memory_order_relaxed) == Mode::kFenceComing;
  }
  void await_fence(const sched::WaitReason& why);

  // --- post, start, complete, wait -------------------------------------------------------------------
  // Members of the window. post() switches no; complete() and wait() do. complete() may return before the posts of targets
  // have come: what it has copied, and the news that it has come, are sent then.
  Complaint post(std::span<const int> origins);
  Complaint start(std::span<const int> targets);
  Complaint complete(const sched::WaitReason& why);
  Complaint wait(const sched::WaitReason& why);
  Complaint test(bool* is_over);

  // --- locks -----------------------------------------------------------------------------------------
  // `is_unchecked`: the program says that nobody else locks (MPI_MODE_NOCHECK). The lock is asked for, and operations wait
  // for it; a lock of the member's own memory, or of memory that members load and store in, is held. Switch: yes.
  Complaint lock(LockType type, int target, bool is_unchecked,
                 const sched::WaitReason& why);
  Complaint unlock(int target);
  Complaint lock_all(bool is_unchecked, const sched::WaitReason& why);
  Complaint unlock_all();
  // All members see what was done before; the caller sees what others did before.
  Complaint flush(int target) noexcept;
  Complaint flush_all() noexcept;
  void settle() noexcept;  // a full barrier

  // --- members in other processes ----------------------------------------------------------------------
  // For operations on them; null: there are none, and finish() has no effect.
  RemoteAccess* remote() const noexcept { return remote_.get(); }
  // Called before unlock() and unlock_all(), if there are such members or operations wait: those may arrive before the data
  // of long puts and gets are moved, or while the lock is not held yet.
  // Switch: yes.
  void before_unlock(int target, const sched::WaitReason& why);
  void before_unlock_all(const sched::WaitReason& why);
  // The second half of unlock() and flush(), and of unlock_all(), flush_all(), a fence before its
  // barrier, and the end of the window. Afterwards the operations under
  // way to the target, or to all targets, have been done there and their
  // results have come; is_local: only the latter. Switch: yes.
  void finish(int target, bool is_local, const sched::WaitReason& why);
  void finish_all(bool is_local, const sched::WaitReason& why);

  // Null: the window may be freed.
  Complaint before_free() const noexcept;

 private:
  enum class Mode : uint8_t {
    kNone,
    kFenceComing,  // until somebody asks
    kFenceOpen,
    kFenceUsed,
    kStarted,
    kLocked,
    kLockedAll
  };
  // What is known about one target, as bits.
  enum Mark : uint8_t {
    kReady = 1,      // operations may be sent
    kExclusive = 2,  // the lock's type
    kHeld = 4,       // the lock must be released: not with MPI_MODE_NOCHECK
    kInGroup = 8,    // of MPI_Win_start
    kComing = 16,    // another execution is about to lock it
    kAsked = 32,     // operations wait for the lock or the post
  };
  // Each lock and unlock writes one: lines of the member's own, which no other core wants.
  struct alignas(64) Marks {
    static constexpr unsigned kCount = 64;
    std::atomic<uint8_t> of[kCount] = {};
  };
  static std::atomic<uint8_t>& mark_in(Marks* marks, int target) noexcept {
    const auto at = static_cast<unsigned>(target);
    return marks[at / Marks::kCount].of[at % Marks::kCount];
  }

  // All relaxed: a program that uses one window in several threads orders its calls itself; locks,
  // posts and barriers order memory between members.
  uint8_t mark(int target) const noexcept {
    Marks* const marks =
        marks_.load(std::memory_order_acquire);  // pairs with make_marks()
    return marks == nullptr ? uint8_t{0}
                            : mark_in(marks, target).load(std::memory_order_relaxed);
  }
  void set_mark(int target, uint8_t mark) noexcept {
    mark_in(marks_.load(std::memory_order_relaxed), target)
        .store(mark, std::memory_order_relaxed);
  }
  // `on`: in this epoch operations may have to wait.
  void set_may_be_later(bool on) noexcept {
    may_be_later_.store(on || remote_ != nullptr, std::memory_order_relaxed);
  }
  void set_mode(Mode mode) noexcept { mode_.store(mode, std::memory_order_relaxed); }
  void make_marks();
  [[gnu::cold]] Complaint reach_slowly(int target, const sched::WaitReason& why);
  Complaint may_begin() const noexcept;
  // False: it was asked for.
  bool take(int target, LockType type, const sched::WaitReason& why);
  // False: it is not held yet.
  [[gnu::cold]] bool ask(int target, LockType type);
  [[gnu::cold]] Complaint reach_asked(int target, const sched::WaitReason& why);
  void hold(int target, const sched::WaitReason& why);
  void give_back(int target) noexcept;
  // False: operations wait for it.
  bool take_post(int target, const sched::WaitReason& why);
  // Is its memory in another process? Where it is mapped here, loads and copies do not ask any queue.
  bool is_queued_for(int target) const noexcept {
    return share_.is_elsewhere(target) && share_.target(target).memory.is_far();
  }

  WindowShare& share_;
  job::Rank& self_;
  const int me_;
  const bool may_share_;
  // Calls wait for locks and posts of targets in the own process, and give their core to others.
  const bool must_wait_;
  std::atomic<Mode> mode_{Mode::kNone};
  std::atomic<bool> may_be_later_{false};
  bool is_fence_used_ = false;  // kFenceComing: operations wait
  bool is_posted_ = false;
  bool all_unchecked_ = false;
  std::atomic<Marks*> marks_{nullptr};  // of each target; created at the first use
  std::unique_ptr<RemoteAccess> remote_;
  LocalQueue local_;
  std::vector<int> group_;  // kStarted: in the order of the call
  SpinLock<> bookkeeping_;  // for kLocked and kLockedAll
  int locked_ MPC_GUARDED_BY(bookkeeping_) = 0;
  std::vector<int> held_ MPC_GUARDED_BY(bookkeeping_);  // kLockedAll
  std::atomic<uint32_t> barrier_{0};
};

}  // namespace mpc::rma
