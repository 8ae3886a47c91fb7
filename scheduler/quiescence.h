#pragma once
// Quiescence: notices that everything waits for something that cannot come by itself.
//
// Role:      the proof behind the deadlock report, and the handler that makes it.
// Users:     scheduler only: the monitor asks.
// Threads:   set_handler() and quiet() any; the rest the monitor's.
// See also:  docs/scheduler.md section "Deadlock".

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/thread_safety.h"
#include "scheduler/scheduler.h"
#include "scheduler/ult_list.h"
#include "scheduler/worker.h"

namespace mpc::sched {

class Quiescence {
 public:
  // Ownership: all of them outlive it.
  Quiescence(const std::vector<std::unique_ptr<Worker>>& workers,
             const TaskQueues& tasks, UltList& ults, const Poller& poller)
      : workers_(workers), tasks_(tasks), ults_(ults), poller_(poller) {}

  void set_handler(QuiescenceHandler handler);
  void call_handler() noexcept;
  // True if everything waits for something that cannot come by itself. Two calls that say so
  // with the same `activity` prove it: nothing has moved in between. Always false without a handler.
  bool is_reached(uint64_t& activity) noexcept {
    activity = 0;
    return has_handler() && is_quiet(activity);
  }
  // For Scheduler::quiet(): the same, seen now, without a handler and without the monitor.
  Quiet quiet() noexcept;

 private:
  bool has_handler() noexcept;
  bool is_quiet(uint64_t& activity) noexcept;

  const std::vector<std::unique_ptr<Worker>>& workers_;
  const TaskQueues& tasks_;
  UltList& ults_;
  const Poller& poller_;
  Mutex lock_;
  QuiescenceHandler handler_ MPC_GUARDED_BY(lock_);
};

}  // namespace mpc::sched
