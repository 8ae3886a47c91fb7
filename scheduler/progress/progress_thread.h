#pragma once
// ProgressThreadImpl: a rank's queue of background work, and the user-level thread that empties it.
//
// Role:      takes items, wakes the thread on the core that CoreChoice names, gives items back to a
//            rank that waits for them, and ends the thread.
// Users:     scheduler/progress.
// Threads:   as progress.h says; functions marked "the thread" run on the progress thread itself.
// See also:  docs/scheduler.md section "Progress threads".
//
// The states of the thread; it changes from one to another under the lock:
//
//             is_active_  is_napping_  the thread ...             leaves that state by
//   not made  no          no                                      spawn(): active
//   active    yes         no           runs, is ready, or polls   begin_nap(): napping; rest(): resting
//   napping   yes         yes          is parked until a time     that time, or disturb(): active
//   resting   no          no           is parked                  enqueue(), ask_to_stop(): active
//
// A thread that ends `napping` before the time, or ends `resting`, owes the progress thread one
// wake-up: the Outcome says which.

#include <atomic>

#include "base/spin_lock.h"
#include "base/thread_safety.h"
#include "scheduler/progress/core_choice.h"
#include "scheduler/progress/item_queue.h"
#include "scheduler/progress/progress.h"
#include "scheduler/scheduler.h"

namespace mpc::sched {

class ProgressThreadImpl final : public ProgressThread {
 public:
  ProgressThreadImpl(Scheduler& scheduler, CoreChoice& cores, void* identity, int rank,
                     int home)
      : scheduler_(scheduler),
        cores_(cores),
        identity_(identity),
        rank_(rank),
        home_(home),
        task_(*this) {}

  ~ProgressThreadImpl() override;
  bool submit(ProgressItem& item, int64_t bytes, ProgressNeed need,
              ProgressData data) noexcept override;
  bool take(ProgressItem* item) noexcept override;
  ProgressItem* take_any() noexcept override;
  bool is_running_here() const noexcept override { return t_running == this; }
  bool is_napping() const noexcept override {
    return is_napping_hint_.load(std::memory_order_relaxed);
  }
  void stop() noexcept override;

 private:
  // What happened to an item, or to the request to stop, and what the caller has to do now.
  enum class Outcome : uint8_t {
    kRefused,  // nothing was stored
    // The thread is active and will see the item, after its nap at the latest.
    kLeftAlone,
    kMustWake,     // the thread rested: wake()
    kNapEnded,     // it napped: unpark(), where it is
    kNapEndedMove  // it napped, and its core does other work now: wake()
  };

  // Policy kTasks: the thread's work as a task.
  struct OwnTask : Task {
    explicit OwnTask(ProgressThreadImpl& owner) noexcept
        : Task(&ProgressThreadImpl::run_task), thread(owner) {}
    ProgressThreadImpl& thread;
  };
  static TaskResult run_task(Task& task);
  bool is_task() const noexcept { return cores_.policy() == ProgressPolicy::kTasks; }
  ProgressCore* place() const noexcept {
    return place_.load(std::memory_order_relaxed);
  }

  // ---- submitting, any thread ----
  Outcome enqueue(ProgressItem& item, ProgressNeed need, ProgressCore* target) noexcept;
  Outcome disturb(ProgressNeed need, const ProgressCore* target) noexcept
      MPC_REQUIRES(lock_);
  Outcome ask_to_stop() noexcept;
  void act_on(Outcome outcome, ProgressCore* target) noexcept;
  void wake(ProgressCore& core) noexcept;
  bool spawn(ProgressCore& core) noexcept MPC_REQUIRES(lock_);

  // ---- the queue ----
  void count_item(int change) noexcept MPC_REQUIRES(lock_);
  ProgressItem* pop() noexcept MPC_REQUIRES(lock_);
  ProgressItem* pop_to_run() noexcept;

  // ---- the thread ----
  void main() noexcept;
  ProgressCore& arrive() noexcept;
  void run_all() noexcept;
  bool is_due() const noexcept {
    return has_items() || is_stopping_.load(std::memory_order_relaxed);
  }

  // ---- waiting for more, the thread: naps.cpp ----
  bool poll_until(uint64_t end_ns, bool gives_way) noexcept;
  bool wait_actively() noexcept;
  bool nap() noexcept;
  void nap_until(ProgressCore& core, uint64_t deadline_ns) noexcept;
  bool rest() noexcept;
  bool begin_nap() noexcept;
  // A napping thread does not count as one that keeps the core busy.
  void set_napping(bool is_napping) noexcept MPC_REQUIRES(lock_);

  Scheduler& scheduler_;
  CoreChoice& cores_;
  void* const identity_;
  const int rank_;
  const int home_;
  std::atomic<Execution*> execution_{nullptr};

  // Held for some instructions, never over a switch. Only the first item holds it for longer: the
  // thread is created under it.
  SpinLock<PauseThenYield> lock_;
  ItemQueue queue_ MPC_GUARDED_BY(lock_);
  // It runs, or has been woken: no other thread need wake it.
  bool is_active_ MPC_GUARDED_BY(lock_) = false;
  // It will check the queue in a moment. A thread that clears this for it owes an unpark().
  bool is_napping_ MPC_GUARDED_BY(lock_) = false;
  bool is_broken_ MPC_GUARDED_BY(lock_) = false;  // the thread could not be created
  std::atomic<bool> is_napping_hint_{false};      // is_napping_, for other threads
  std::atomic<bool> is_stopping_{false};          // written under the lock
  // Written by the thread that sets is_active_; read by the progress thread afterwards.
  std::atomic<ProgressCore*> place_{nullptr};
  OwnTask task_;

  // The progress thread whose items run on this execution.
  static thread_local constinit ProgressThreadImpl* t_running;
};

}  // namespace mpc::sched
