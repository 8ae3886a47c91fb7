#pragma once
// TaskQueues: a queue per core, shared cache, NUMA node, chip and one for the machine.
//
// Role:      PIOMan's hierarchical task lists: the queue of a task says which workers may run it. A
//            worker checks from its core's queue up to the machine's: when it has nothing to
//            run, and (a bounded check) when it switches.
// Users:     In a job: scheduler/progress with progress.policy=tasks, by submit_near() and with
//            TaskScope::kMachine. Only tests and benchmarks: submit(), submit_to() and thus sets of
//            workers, the other scopes, kAgain. Workers run them; a worker of a job that submits
//            none checks no queue when it switches (Worker::wants_task), it loads one word.
// Threads:   submit functions: any thread and task, no signal handler. The rest as each says.
// See also:  scheduler/task/task.h, docs/design/0010-task-queues.md.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "scheduler/task/path.h"
#include "scheduler/task/task.h"

namespace mpc::sched {

class Worker;

class TaskQueues {
 public:
  // Queues a task that the workers of `scope` around the caller's worker may run. If the caller
  // has no worker (a foreign kernel thread), every worker may run it.
  // A sleeping worker that may run it is woken, unless another one is awake and looks for work.
  // Switches: no. Ownership: see Task. Cost: some 10 ns; a system call if somebody is woken.
  void submit(Task& task, TaskScope scope) noexcept;
  // Like submit(), but around another worker.
  void submit_near(Task& task, int worker, TaskScope scope) noexcept;
  // Queues a task that only workers of the set may run, at the smallest object that covers the set.
  // Ownership: `allowed` (not empty) must live as long as the task is queued.
  void submit_to(Task& task, const WorkerSet& allowed) noexcept;

  // ---- what a worker's path looks like (benchmarks, tests, reports) ----
  // Was a task ever submitted? Until then no switch checks a queue.
  bool is_in_use() const noexcept { return is_in_use_.load(std::memory_order_relaxed); }
  int level_count(int worker) const noexcept { return path(worker).count; }
  // `level` 0 is the core's own queue, the last one the machine's.
  const TaskQueue& queue(int worker, int level) const noexcept {
    return *path(worker).queues[level];
  }
  const TaskQueue& queue_of(int worker, TaskScope scope) const noexcept;

  // ---- for the scheduler ----
  // Builds the tree over the workers' cores. machine null: cores and the machine only.
  void build(const topo::Machine* machine,
             std::vector<std::unique_ptr<Worker>>& workers);
  const TaskPath& path(int worker) const noexcept {
    return shares_[static_cast<size_t>(worker)].path;
  }

  // The following belong to the carrier that holds `worker`, on its own stack.

  // Runs one task, if there is one (a switch's share of the paper's algorithm 1).
  void run_one(Worker& worker) noexcept;
  // For a worker without ready Ults: between begin_idle() and end_idle() submitters rely on it
  // to look. After end_idle() it calls begin_idle() again soon, or pass_on().
  void begin_idle(const Worker& worker) noexcept;
  void end_idle(const Worker& worker) noexcept;
  // The next task, removed from its queue. Null: none.
  struct Taken {
    Task* task = nullptr;
    TaskQueue* queue = nullptr;
  };
  Taken take(Worker& worker) noexcept;
  // Runs the task. True: it wants to run again, and is queued without waking another worker: this
  // worker calls begin_idle() soon, or pass_on().
  bool run(Worker& worker, Taken taken) noexcept;
  // Wakes another worker for tasks on the worker's path that this worker will not run.
  void pass_on(Worker& worker) noexcept;
  // Brings the counters up to date. Before the worker sleeps.
  void flush_counts(const Worker& worker) noexcept;

  // No task is queued or taken. Two calls with equal finished()
  // before and after prove that none was meanwhile.
  bool is_at_rest() const noexcept;
  uint64_t finished() const noexcept;
  // From now on kAgain means kDone. Waits until no task is queued or running.
  // Caller: the scheduler's destructor.
  void finish() noexcept;

 private:
  // One worker's part. Written by its owner, read by the monitor.
  struct alignas(64) Share {
    TaskPath path{};
    std::vector<int> nearest;  // all workers, the nearest first, itself included
    alignas(64) std::atomic<bool> busy{false};  // a task is being taken or runs
    std::atomic<uint64_t> finished{0};
    uint64_t run_count[kTaskScopes] = {};  // since the last flush
    uint64_t moved_count = 0;
  };
  static TaskQueue& select(const TaskPath& path, TaskScope scope) noexcept;
  void begin_use() noexcept;
  void enqueue(Task& task, TaskQueue& queue, int near) noexcept;
  void wake_one(const TaskQueue& queue, int near, const WorkerSet* allowed) noexcept;
  void wake_eligible(TaskQueue& queue) noexcept;
  Share& share(const Worker& worker) noexcept;

  std::vector<std::unique_ptr<TaskQueue>> queues_;
  std::vector<Share> shares_;
  std::vector<Worker*> workers_;
  std::atomic<bool> is_in_use_{false}, finishing_{false};
};

}  // namespace mpc::sched
