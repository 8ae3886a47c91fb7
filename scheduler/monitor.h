#pragma once
// Monitor: the kernel thread that watches workers from outside.
//
// Role:      takes the worker from a kernel thread that blocks while other Ults are ready, and
//            gives it to a spare one; notices when nothing can ever happen again; polls if no other
//            thread has polled for long; updates the coarse clock. Ticks every 10 ms while a worker
//            runs, else rarely.
// Users:     scheduler only.
// Threads:   one thread; nudge() from any.
// See also:  docs/scheduler.md sections "Hand-over" and "Deadlock".

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/futex.h"
#include "base/result.h"
#include "scheduler/carrier_pool.h"
#include "scheduler/quiescence.h"
#include "scheduler/stealing.h"
#include "scheduler/worker.h"

namespace mpc::sched {

class Monitor {
 public:
  // Ownership: all of them outlive it.
  Monitor(const std::vector<std::unique_ptr<Worker>>& workers, Stealing& stealing,
          CarrierPool& carriers, Poller& poller, Quiescence& quiescence)
      : workers_(workers),
        stealing_(stealing),
        carriers_(carriers),
        poller_(poller),
        quiescence_(quiescence) {}
  Result<> start();
  void stop() noexcept;

  // A worker stops sleeping. Caller: any. Cost: one load, unless the monitor is in a long sleep.
  void nudge() noexcept {
    if (slow_.load(std::memory_order_relaxed) != 0) end_slow_sleep();
  }

  // Requests another call of the quiescence handler, even if nothing has happened. Caller: any.
  void ask_rest() noexcept {
    is_asked_.store(true, std::memory_order_release);  // pairs with watch_quiescence()
    nudge();
  }

  // Sets the function that is called at the end of each tick. Caller: any.
  void set_tick_hook(void (*hook)() noexcept) noexcept {
    tick_hook_.store(hook, std::memory_order_release);  // pairs with tick()
  }

  // Number of times that a kernel thread has lost its worker so far.
  uint64_t handover_count() const noexcept {
    return handovers_.load(std::memory_order_relaxed);
  }

 private:
  // What the last tick observed about a worker.
  struct Seen {
    uint64_t switch_count = 0;
    bool has_ready = false;
    bool stuck = false;  // had ready Ults and the same switch count
    uint64_t stuck_since_ns = 0;
  };
  static void* thread_main(void* self);
  void run() noexcept;
  void end_slow_sleep() noexcept;
  void tick() noexcept;
  void watch(Worker& worker, Seen& seen) noexcept;
  void hand_over(Worker& worker) noexcept;
  void watch_quiescence() noexcept;
  uint64_t next_tick_ns() const noexcept;

  const std::vector<std::unique_ptr<Worker>>& workers_;
  Stealing& stealing_;
  CarrierPool& carriers_;
  Poller& poller_;
  Quiescence& quiescence_;
  std::vector<Seen> seen_;
  bool all_asleep_ = false;  // at the last tick
  bool region_seen_ = false;
  int hasty_ticks_ = 0;                  // how many more ticks at the shortest interval
  uint64_t epoch_ = 0;                   // sum of the switch counts at the last tick
  uint64_t quiescent_epoch_ = kNoEpoch;  // an epoch that was found quiescent once
  uint64_t quiescent_activity_ = 0;      // the same for the kernel threads' activity
  bool is_confirming_ = false;           // will be checked once more, soon
  uint64_t reported_epoch_ = kNoEpoch;
  uint64_t reported_traffic_ = 0;
  std::atomic<bool> is_asked_{false};
  std::atomic<uint64_t> handovers_{0};
  std::atomic<void (*)() noexcept> tick_hook_{nullptr};

  static constexpr uint64_t kNoEpoch = ~uint64_t{0};
  // 1: in a long sleep, which nudge() ends. Also the futex word.
  FutexWord slow_{0};
  std::atomic<bool> stop_{false};
  bool started_ = false;
  pthread_t thread_{};
};

}  // namespace mpc::sched
