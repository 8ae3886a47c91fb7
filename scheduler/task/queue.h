#pragma once
// TaskQueue: the tasks of one object of the machine (a core, a cache, ..., all of it).
//
// Role:      any thread adds without waiting; the workers below the object take, the oldest first.
//            Two parts: a stack that submitters push to with one compare-and-exchange, and a
//            list that takers fill from it under a lock. No thread waits for that lock: a taker
//            that finds it held moves on to the next queue.
// Users:     TaskQueues.
// Threads:   any, unless a function says otherwise.
// See also:  Trahay & Denis 2009, algorithm 2; docs/design/0010-task-queues.md.

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/mpsc_stack.h"
#include "base/spin_lock.h"
#include "base/thread_safety.h"
#include "scheduler/task/task.h"
#include "topology/machine.h"

namespace mpc::sched {

class alignas(64) TaskQueue {
 public:
  TaskQueue() = default;
  TaskQueue(const TaskQueue&) = delete;

  // The hint at every switch. Cost: loads of one line, which no thread writes while the queue is
  // empty, so it stays in the caches of all cores that read it.
  bool looks_empty() const noexcept {
    // One branch for both.
    return (reinterpret_cast<uintptr_t>(inbox_.top()) |
            reinterpret_cast<uintptr_t>(head_.load(std::memory_order_relaxed))) == 0;
  }

  // Order: seq_cst, see may_have_work(). Never waits.
  void push(Task& task) noexcept;

  // The oldest task that `worker` may run, or null: there is none, or another taker is active.
  Task* take(int worker) noexcept;

  // Is there a task for `worker`, or does a taker hold the lock? False is certain, and then
  // every later push comes after this call in the order of the seq_cst operations.
  bool may_have_work(int worker) noexcept;
  // The same for any worker.
  bool may_have_work() const noexcept;

  // Some task here may not be run by every worker below the object.
  bool has_restricted() const noexcept {
    return restricted_count_.load(std::memory_order_relaxed) != 0;
  }

  // How many workers below this object look for work (spin), and how many sleep. One word, so that
  // a submitter needs one load; seq_cst, partner of push() (see TaskQueues).
  struct Idle {
    uint32_t spinners, sleepers;
  };
  static constexpr uint64_t kSleeper = 1;
  static constexpr uint64_t kSpinner = uint64_t{1} << 32;
  Idle idle() const noexcept {
    const uint64_t word = idle_.load(std::memory_order_seq_cst);
    return {static_cast<uint32_t>(word >> 32), static_cast<uint32_t>(word)};
  }
  void change_idle(uint64_t difference) noexcept {
    idle_.fetch_add(difference, std::memory_order_seq_cst);
  }

  // Fixed when the scheduler starts: the levels of the tree at which the object is the same,
  // the workers below it, and under which scope its tasks are counted.
  topo::Level low = topo::Level::kCore, high = topo::Level::kCore;
  TaskScope scope = TaskScope::kCore;
  std::vector<int> workers;
  WorkerSet worker_set;

 private:
  static bool may_run(const Task& task, int worker) noexcept {
    return task.allowed_ == nullptr || task.allowed_->contains(worker);
  }
  void drain_inbox() noexcept MPC_REQUIRES(lock_);
  Task* unlink(int worker) noexcept MPC_REQUIRES(lock_);

  // One line: pushers write inbox_, the taker that holds lock_ writes the rest. head_ is
  // atomic because hints read it.
  alignas(64) MpscStack<Task, &Task::next_> inbox_;
  std::atomic<Task*> head_{nullptr};
  Task* tail_ MPC_GUARDED_BY(lock_) = nullptr;
  SpinLock<> lock_;  // only tried, never waited for
  std::atomic<uint32_t> restricted_count_{0};

  // Another line: written when a worker becomes idle or busy.
  alignas(64) std::atomic<uint64_t> idle_{0};
};

}  // namespace mpc::sched
