#pragma once
// Quiescence: notices that everything waits for something that cannot come by itself.
//
// Role:      the proof behind the deadlock report, and the handler that writes the report.
// Users:     scheduler only: the monitor asks.
// Threads:   set_handler(), quiet() and rest() any; the others the monitor.
//            With several processes the handler is told when this one rests, see TrafficCount.
// See also:  docs/scheduler.md section "Deadlock".

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/thread_safety.h"
#include "scheduler/rest.h"
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

  void set_handler(QuiescenceHandler handler, TrafficCount traffic);
  void call_handler() noexcept;
  // What the traffic counter says; 0: there is no counter.
  uint64_t traffic() noexcept;
  // True if everything waits for something that cannot come by itself. Two calls that return true
  // with the same `activity` prove it: nothing has changed in between. Always false without a
  // handler, and where messages from other processes are not counted.
  bool is_reached(uint64_t& activity) noexcept;
  // For Scheduler::quiet(): the present state, without a handler and without the monitor.
  Quiet quiet() noexcept;
  // For rest_of().
  Rest rest() noexcept;

 private:
  bool has_handler() noexcept;
  bool counts_traffic() noexcept;
  Rest look() noexcept;

  const std::vector<std::unique_ptr<Worker>>& workers_;
  const TaskQueues& tasks_;
  UltList& ults_;
  const Poller& poller_;
  Mutex lock_;
  QuiescenceHandler handler_ MPC_GUARDED_BY(lock_);
  TrafficCount traffic_ MPC_GUARDED_BY(lock_);
};

}  // namespace mpc::sched
