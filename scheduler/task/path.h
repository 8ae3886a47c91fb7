#pragma once
// TaskPath: the task queues that one worker takes from, from its core's queue up to the machine's.
//
// Role:      where a worker looks for tasks, and where it publishes that it looks, or sleeps.
// Users:     scheduler: TaskQueues builds the paths, workers and carriers walk along them.
// Threads:   looks_empty() any; the rest the carrier that holds the worker.
// See also:  scheduler/task/queues.h.

#include <cstdint>

#include "scheduler/task/queue.h"

namespace mpc::sched {

struct TaskPath {
  static constexpr int kMaxLevels = 7;
  TaskQueue*
      queues[kMaxLevels];  // level 0: the core's own; the last one: the machine's
  int count;

  // Could there be a task to run? A hint. Cost: two loads per level.
  bool looks_empty() const noexcept {
    for (int level = 0; level < count; ++level)
      if (!queues[level]->looks_empty()) return false;
    return true;
  }
  // Adds or removes the worker as one that looks or sleeps, at every level.
  void change_idle(uint64_t difference) const noexcept {
    for (int level = 0; level < count; ++level) queues[level]->change_idle(difference);
  }
  // Called around the sleep of a worker: spinning -> sleeping -> spinning.
  // begin_sleep() true: there may be a task for it, do not sleep. Caller: Worker::sleep(), after it
  // has published that it sleeps.
  bool begin_sleep(int worker) const noexcept {
    change_idle(TaskQueue::kSleeper - TaskQueue::kSpinner);
    for (int level = 0; level < count; ++level)
      if (queues[level]->may_have_work(worker)) return true;
    return false;
  }
  void end_sleep() const noexcept {
    change_idle(TaskQueue::kSpinner - TaskQueue::kSleeper);
  }
};

}  // namespace mpc::sched
