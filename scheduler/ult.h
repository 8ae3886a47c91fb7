#pragma once
// Ult: a user-level thread: an Execution with a stack, a thread control block and a queue link.
//
// Role:      what workers run. Its stack and control block belong to its donor, a pthread that
//            sleeps with all signals blocked from its creation to the Ult's end; then the donor
//            wakes, runs the destructors of the Ult's thread_locals, and exits.
// Users:     scheduler only.
// Threads:   the fields of a ready or parked Ult belong to the thread that made it so.
// See also:  scheduler/worker.h, docs/scheduler.md.

#include <pthread.h>

#include <functional>
#include <string>

#include "base/futex.h"
#include "scheduler/context/fiber.h"
#include "scheduler/execution.h"

namespace mpc::sched {

class Ult final : public Execution {
 public:
  Ult() { is_ult_ = true; }
  ~Ult() = default;

  Carrier& carrier() noexcept { return *carrier_; }
  Worker& home() noexcept { return *worker_.load(std::memory_order_relaxed); }
  void place_on(Worker& worker) noexcept {
    worker_.store(&worker, std::memory_order_relaxed);
  }
  // The Ult is away from its origin and becomes ready: it returns if a thief took it long ago.
  // Caller: the thread that has woken it.
  void consider_return() noexcept;
  // Queues the Ult on its worker after its kernel thread has lost the worker. Switches: yes;
  // returns inside the runtime (enter() holds).
  void return_to_worker() noexcept;
  // The stack has been left for good: the donor wakes, runs the thread's
  // destructors and exits. After the last Ult has ended the scheduler
  // may be destroyed, too: nothing is touched afterwards.
  // Caller: the carrier that has left it.
  void end() noexcept {
    ended.store(true, std::memory_order_release);
    donor_gate.store(1, std::memory_order_release);  // pairs with the donor's acquire
    futex_wake(donor_gate);
    FutexWord& live = *live_count;
    // Release pairs with the acquire in UltList::wait_for_all().
    if (live.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake_all(live);
  }

  context::Fiber fiber;
  Ult* next = nullptr;  // in a run queue or an inbox
  std::function<void()> entry;
  std::string name;
  uint64_t number = 0;        // in the order of spawn()
  uint32_t region_depth = 0;  // nested BlockingRegions
  bool may_move = true;       // to an idle worker, while it is ready
  Worker* origin = nullptr;   // the worker it was created for
  uint64_t taken_ns = 0;  // when a thief took it from there; 0: it is where it belongs
  std::atomic<uint64_t> cpu_time_ns{0};  // see cpu_time.h; written by its carrier

  // The donor sleeps here until the Ult has ended.
  FutexWord donor_gate{0};
  pthread_t donor{};
  Worker* first_inbox = nullptr;  // where the donor puts it
  char* stack = nullptr;          // lowest usable address
  size_t stack_bytes = 0, guard_bytes = 0;
  std::atomic<bool> ended{false};
  FutexWord* live_count = nullptr;  // of the UltList that it is in

  // park_until(): the entry in the worker's timers, guarded by their lock.
  uint64_t deadline_ns = 0;
  std::atomic<Worker*> timer_worker{nullptr};  // null: no timer is set
  size_t timer_index = 0;                      // its place in the heap
  bool timed_out = false;
};

}  // namespace mpc::sched
