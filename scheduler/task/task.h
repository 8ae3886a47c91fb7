#pragma once
// Task: a small piece of work that some idle core does soon, and the set of cores that may.
//
// Role:      what communication leaves to a core that has time: match an envelope, copy a piece,
//            continue a schedule. Embedded in the owner's object, so that handing it over
//            allocates nothing.
// Users:     scheduler/progress submits, with progress.policy=tasks only; the scheduler's workers run.
// Threads:   see TaskQueues. A task that is queued or runs belongs to the queues.
// See also:  scheduler/task/queues.h; docs/scheduler.md section "Tasks"; Trahay & Denis 2009,
//            section III.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpc::sched {

// What a task's function says when it returns.
enum class TaskResult : uint8_t {
  kDone,   // finished: the scheduler has forgotten the task already
  kAgain,  // the paper's repeat option: put it back into its queue, run it again later
};

// The workers that may run a task, relative to one of them: only itself, or all that share a cache,
// a NUMA node, a chip, the machine with it.
// Levels that the machine lacks, or that equal a smaller one, share one queue.
enum class TaskScope : uint8_t { kCore, kCache, kNuma, kChip, kMachine };
inline constexpr int kTaskScopes = 5;

// Workers by number. Copying allocates: create it once and store it with the task's owner.
class WorkerSet {
 public:
  void add(int worker) {
    const size_t word = static_cast<size_t>(worker) / 64;
    if (words_.size() <= word) words_.resize(word + 1, 0);
    words_[word] |= uint64_t{1} << (static_cast<size_t>(worker) % 64);
  }
  bool contains(int worker) const noexcept {
    const size_t word = static_cast<size_t>(worker) / 64;
    return word < words_.size() &&
           (words_[word] >> (static_cast<size_t>(worker) % 64) & 1) != 0;
  }

 private:
  std::vector<uint64_t> words_;
};

// Ownership: the submitter's. From submit() on it must stay where it is, untouched, until its
// function runs. The function may reuse, submit or free it, or tell another thread that may,
// provided that it then returns kDone: the scheduler does not touch the task after that. A task
// that returns kAgain must still exist, and is touched after the return.
//
// The function runs on the stack of a worker's own kernel thread, between two user-level
// threads or instead of sleeping. Execution::self() is that thread, with `identity` as its
// identity, and thread_locals are that thread's, not the rank's. It may unpark, submit, copy, and
// acquire locks for a short time. It must not park (checked), yield, block, or throw. The
// user-level threads of its worker wait meanwhile: microseconds, not milliseconds.
struct Task {
  using Function = TaskResult (*)(Task& self);

  explicit Task(Function function = nullptr) noexcept : run(function) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  Function run;
  void* identity = nullptr;  // Execution::identity() during the run

 private:
  friend class TaskQueue;
  friend class TaskQueues;
  Task* next_ = nullptr;
  const WorkerSet* allowed_ = nullptr;  // null: every worker below the queue
  // The submitting worker, for the counters; -1: none.
  int submitter_ = -1;
};

}  // namespace mpc::sched
