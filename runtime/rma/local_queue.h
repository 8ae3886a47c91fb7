#pragma once
// LocalQueue: operations of one member on targets in its own process that wait for a lock or a post.
//
// Role:      MPI_Win_lock, MPI_Win_start and MPI_Win_complete need not wait: what waits for the other side is done by the
//            thread that lets it in, while this member computes.
// Users:     runtime/rma/access.h.
// Threads:   executions of the member, as Access; note_post() and grants any.
// See also:  runtime/rma/queue.cpp (the same for targets in other processes), docs/design/0049-queued-epochs.md.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/mutex.h"
#include "runtime/rma/wants.h"
#include "runtime/rma/window_share.h"
#include "scheduler/execution.h"

namespace mpc::rma {

// An operation with its arguments.
struct LocalOperation {
  std::function<void()> run = {};
  // It has a copy of the origin's data, of so many bytes, and returns none: the caller's buffers are free.
  bool is_copied = false;
  size_t copied_bytes = 0;
};

// Looks for a microsecond or two, where that pays: what comes so soon costs less than a queue. Switches: no.
template <class Ready>
bool comes_soon(Ready ready) {
  constexpr int kLooks = 40;
  for (int i = 0; i < kLooks && sched::spinning_pays(); ++i) {
    if (ready()) return true;
    __builtin_ia32_pause();
  }
  return ready();
}

class LocalQueue {
 public:
  using IsOver = std::shared_ptr<std::atomic<bool>>;

  LocalQueue(WindowShare& share, int me, job::Rank& self) noexcept
      : share_(share), self_(self), me_(me) {}
  ~LocalQueue();
  LocalQueue(const LocalQueue&) = delete;

  job::Rank& self() const noexcept { return self_; }

  // True: nothing waits, and all that has waited is done. Order: acquire.
  bool is_empty() const noexcept {
    return awaited_.load(std::memory_order_acquire) == 0;
  }
  bool is_empty(int target);

  // Asks for the lock, which others hold. Operations on the target wait until it is held, and so do later
  // lock calls of the execution, which has no line when it calls this (lock_lines.h). Switches: no.
  void lock(int target, LockType type);
  // True: the target has posted, and nothing of earlier epochs waits; the post is consumed. False: operations wait.
  // Switches: no.
  bool start(int target);
  // The end of the epoch of start() that has returned false. Waits until buffers belong to the caller: not if all that
  // waits is little. Switches: sometimes.
  void complete(int target, const sched::WaitReason& why);

  // Must the next operation on the target wait in its call, by settle()? See queue_limits.h.
  bool must_settle(int target);
  // Does it behind what waits for the target already, or now, if that has been done meanwhile.
  // later: as of RemoteAccess::put(). Switches: no.
  void push(int target, LocalOperation operation, IsOver* later);

  // Afterwards all that has waited for the target, or for any, is done. Switches: yes.
  void settle(int target, const sched::WaitReason& why);
  void settle_all(const sched::WaitReason& why);

  // The target's post is on this member's board. Caller: any, after it has put it there (seq_cst).
  void note_post(int target) {
    // seq_cst: either it is seen here that something may wait, or start() sees the post.
    if (awaited_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      let_in(target, What::kPost);
  }
  Wants wants(int target);

 private:
  enum class What : uint8_t {
    kLock,       // a marker: what is behind it waits for the lock
    kPost,       // likewise for a post of the target
    kOperation,  // an operation
    kComplete,   // the end of the epoch of a kPost
  };
  struct Entry {
    What what;
    LocalOperation operation = {};
    IsOver is_over = {};
    bool is_marker() const noexcept {
      return what == What::kLock || what == What::kPost;
    }
  };
  struct State {
    std::deque<Entry> entries;
    bool is_running = false;  // a thread works on the first entries
    bool is_granted = false;  // the lock
    size_t copied_bytes = 0;
    // Number of entries, for those that wait without the lock.
    std::atomic<uint32_t> awaited{0};
  };
  class Asked;

  State& state(int target) MPC_REQUIRES(lock_) { return states_[target]; }
  void push_locked(State& its, Entry entry) MPC_REQUIRES(lock_);
  bool pop(State& its) MPC_REQUIRES(lock_);
  bool may_pass(int target, State& its) MPC_REQUIRES(lock_);
  static bool is_little(const State& its) noexcept;
  // What the first entry waits for has come, if it is this.
  void let_in(int target, What what);
  void note_grant(int target);
  void run(int target, State& its);
  void wait_for_zero(const std::atomic<uint32_t>& count, const sched::WaitReason& why);

  WindowShare& share_;
  job::Rank& self_;
  const int me_;
  std::atomic<uint32_t> awaited_{0};  // of all targets
  std::atomic<int> waiters_{0};       // executions that wait for the end of entries
  // Never held while an operation is done. A thread that has removed the last entry does not use this object or the
  // rank any more when a waiter acquires it.
  Mutex lock_;
  std::unordered_map<int, State> states_
      MPC_GUARDED_BY(lock_);  // of targets that had to wait
};

// The rank whose part of a window this is, while it has the window; null: it lives elsewhere.
inline job::Rank* member_of(const Target& target) noexcept {
  // Acquire pairs with Access::Access().
  const LocalQueue* const its = target.queue.load(std::memory_order_acquire);
  return its != nullptr ? &its->self() : nullptr;
}

}  // namespace mpc::rma
