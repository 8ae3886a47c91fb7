#pragma once
// WorkerLoop: what one of our kernel threads does between user-level threads.
//
// Role:      waits for a worker, and runs what is ready on it: its own Ults, tasks, Ults of others.
//            When nothing is ready it waits actively for a while, then sleeps.
// Users:     scheduler only: one on the stack of each carrier.
// Threads:   the carrier's.
// See also:  scheduler/carrier.h (the thread, the switch), docs/scheduler.md.
//
//     wait for a worker <------------------------------------- become a spare
//            |                                                       ^
//            v                                                       | the worker was taken away
//     run one task, if Ults are ready, too                           |
//     next Ult: own run queue, inbox, timers; else one of others ----+--> resume() it
//            | none                                                  |
//            v                                                       |
//     idle: look for a task and poll outside, as long as polling pays |
//           wait until it is clear whether an Ult can be stolen      |
//           sleep until a push, a wake-up, a timer or a call from outside; or run the task --> from the top

#include <atomic>
#include <cstdint>

#include "scheduler/binding.h"
#include "scheduler/carrier.h"
#include "scheduler/carrier_pool.h"
#include "scheduler/monitor.h"
#include "scheduler/stealing.h"
#include "scheduler/task/queues.h"

namespace mpc::sched {

class WorkerLoop {
 public:
  // The parts of a scheduler that the loop needs.
  struct Parts {
    TaskQueues& tasks;
    Stealing& stealing;
    Bindings& bindings;
    CarrierPool& carriers;
    Monitor& monitor;
    const std::atomic<bool>& stopping;
    int worker_count;
  };
  WorkerLoop(Carrier& carrier, const Parts& parts) : carrier_(carrier), parts_(parts) {}
  WorkerLoop(const WorkerLoop&) = delete;

  // Returns when the scheduler ends.
  void run() noexcept;

 private:
  bool is_stopping() const noexcept {
    return parts_.stopping.load(std::memory_order_seq_cst);
  }
  void run_worker() noexcept;
  void idle(Worker& worker) noexcept;
  void end_idle(Worker& worker) noexcept;
  void begin_spinning(const Worker& worker) noexcept;
  uint64_t spin_ns() const noexcept;
  bool look_outside(uint64_t now) noexcept;
  bool sleep(Worker& worker) noexcept;
  bool may_steal_soon(Worker& worker) noexcept;
  TaskQueues::Taken look_for_task(Worker& worker) noexcept;

  Carrier& carrier_;
  const Parts parts_;
  // Since the last idle(): tasks may have come while this thread counted as one that looks
  // (TaskQueues::pass_on()), and it may still count as one that polls.
  bool was_idle_ = false;
  Poller* looks_at_ = nullptr;      // not null: between its begin_look() and end_look()
  uint64_t task_spin_end_ns_ = 0;   // idle() looks for tasks and Ults until then
  uint64_t idle_since_switch_ = 0;  // the worker's switch_count at the last idle()
};

}  // namespace mpc::sched
