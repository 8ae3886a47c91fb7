#pragma once
// Worker: a core's share of the scheduler: run queue, inbox, timers.
//
// Role:      the "P" of the P/M/G scheme: what a kernel thread (Carrier) must hold in order to
//            run user-level threads. It can be taken from a kernel thread that is blocked and
//            given to another one; nothing in here depends on which thread holds it.
// Users:     scheduler only; the layers above see an opaque name.
// Threads:   "owner" is the carrier that holds the worker, inside the runtime.
// See also:  scheduler/carrier.h, docs/scheduler.md.

#include <atomic>
#include <vector>

#include "base/futex.h"
#include "base/mpsc_stack.h"
#include "base/mutex.h"
#include "base/spin_lock.h"
#include "base/thread_safety.h"
#include "scheduler/task/path.h"
#include "scheduler/ult.h"

namespace mpc::sched {

inline constexpr uint64_t kNever = ~uint64_t{0};

class Poller;
class SchedulerImpl;
class WakeSet;

class Worker {
 public:
  // stopping: the scheduler's flag, which is set before all workers are woken for the last time.
  // shared: other workers may steal(); then the run queue is locked.
  Worker(SchedulerImpl& scheduler, const std::atomic<bool>& stopping, int index,
         int core, bool shared)
      : index_(index),
        core_(core),
        scheduler_(scheduler),
        shared_(shared),
        stopping_(stopping) {}
  Worker(const Worker&) = delete;

  int index() const noexcept { return index_; }
  int core() const noexcept { return core_; }
  // The scheduler that owns the worker; the worker itself calls nothing of it.
  SchedulerImpl& scheduler() const noexcept { return scheduler_; }

  // Appends to the run queue. Caller: the owner. Cost: 2 ns.
  void push_local(Ult& ult) noexcept;
  // Takes the oldest ready Ult, or null; empties the inbox first and fires due timers.
  // Caller: the owner.
  Ult* pop() noexcept;
  // Should a switch go to the carrier, which runs a task? The core's own queue is checked
  // each time, the shared ones now and then. Caller: the owner.
  // Cost: one load of the owner's line until a first task is submitted; then 1 ns.
  bool wants_task() const noexcept {
    constexpr uint64_t kSwitchesPerLook = 16;
    const TaskPath* const path = used_path_.load(std::memory_order_relaxed);
    if (path == nullptr) [[likely]]
      return false;
    if (!path->queues[0]->looks_empty()) return true;
    return switch_count.load(std::memory_order_relaxed) % kSwitchesPerLook == 0 &&
           !path->looks_empty();
  }
  // Is there a task that this worker may run? A hint. Caller: any. Cost: as wants_task().
  bool has_task() const noexcept {
    const TaskPath* const path = used_path_.load(std::memory_order_relaxed);
    return path != nullptr && !path->looks_empty();
  }
  void set_tasks(const TaskPath& path) noexcept { task_path_ = &path; }
  // The first task of the scheduler is about to be queued:
  // check for tasks from now on. Caller: any.
  void begin_tasks() noexcept {
    used_path_.store(task_path_, std::memory_order_relaxed);
  }

  // The poller of the sources of events; null: there is none, so nothing is polled. Caller: any.
  Poller* poller() const noexcept {
    return poller_.load(std::memory_order_acquire);  // pairs with set_poller()
  }
  void set_poller(Poller& poller) noexcept {
    poller_.store(&poller, std::memory_order_release);
    set_spins(Spins::kForAll);
  }

  // What may arrive while a rank waits actively here: nothing, because no other thread runs;
  // something from another worker; the same, or something from a source of events. Caller: any.
  enum class Spins : uint8_t { kInVain, kForWorkers, kForAll };
  Spins spins() const noexcept { return spins_.load(std::memory_order_relaxed); }
  void set_spins(Spins spins) noexcept {
    spins_.store(spins, std::memory_order_relaxed);
  }

  // Does the worker have anything else to run than the caller? Caller: the owner.
  bool needs_switch() const noexcept {
    return has_ready() || has_task() ||
           (next_deadline_ns() != kNever && next_deadline_ns() <= now_ns());
  }
  // Takes the oldest ready Ult of another worker for this one, or returns null. Caller: the owner
  // of this worker. Both must have been created with shared = true.
  Ult* steal(Worker& victim) noexcept;
  // Takes the oldest ready Ult that may move, or returns null; empties the inbox first.
  // Caller: the owner, or the thief that holds the worker still (Carrier::take_ready_of).
  Ult* take_movable() noexcept;
  // Takes everything that is ready, as a chain, the oldest first. Caller: the owner.
  Ult* pop_all() noexcept;
  // Hands over a ready Ult. Caller: any. Order: release, pairs with the acquire in pop().
  void push_remote(Ult& ult) noexcept;
  // Is an Ult ready? Caller: any (a hint unless the caller is the owner).
  bool has_ready() const noexcept {
    return head_.load(std::memory_order_relaxed) != nullptr || !inbox_.is_empty();
  }

  // push_remote() for a chain (linked by Ult::next; the first one runs first).
  void push_chain(Ult& first) noexcept;

  // Sleeps until push_remote(), wake() or the next timer. If `descriptors` are given, it sleeps on
  // them and not on the futex, so that their events end it,
  // too. Caller: the owner, with an empty queue.
  enum class Slept : uint8_t { kNot, kUntilWoken, kUntilCalled };
  Slept sleep(WakeSet* descriptors = nullptr) noexcept;
  // Ends sleep(). Returns false if the worker did not sleep,
  // or another caller woke it. Caller: any.
  bool wake() noexcept;
  bool is_sleeping() const noexcept {
    return sleeping_.load(std::memory_order_relaxed) != 0;
  }

  // No Ult runs here: the worker looks for work, or sleeps.
  // Written by the owner; a hint for others.
  std::atomic<bool> is_idle{true};
  // The Ult that runs here waits actively (SpinBudget). Written by that Ult; a hint for others.
  std::atomic<bool> is_spinning{false};

  // Timers. Caller: any.
  void add_timer(Ult& ult, uint64_t deadline_ns) noexcept;
  void remove_timer(Ult& ult) noexcept;
  uint64_t next_deadline_ns() const noexcept {
    return next_deadline_ns_.load(std::memory_order_relaxed);
  }
  // Makes every Ult ready whose deadline has passed. Caller: the owner.
  void fire_timers() noexcept;

  // The carrier that holds this worker; changed by Carrier::adopt() only.
  std::atomic<Carrier*> carrier{nullptr};
  // number of switches on this worker; the monitor's sign of life. Written by the owner.
  std::atomic<uint64_t> switch_count{0};
  void count_switch() noexcept {
    switch_count.store(switch_count.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
  }

  // The Ult that ran last here has waited actively in vain, so its worker need not do so again
  // before it sleeps. Caller: that Ult, before it parks.
  void note_spun() noexcept {
    spun_at_.store(switch_count.load(std::memory_order_relaxed) + 1,
                   std::memory_order_relaxed);
  }
  // Has note_spun() been called since the last switch? Caller: the owner, in its idle loop.
  bool has_spun() const noexcept {
    return spun_at_.load(std::memory_order_relaxed) ==
           switch_count.load(std::memory_order_relaxed);
  }

 private:
  friend class Donor;
  void drain_inbox() noexcept;
  void append(Ult& ult) noexcept MPC_REQUIRES(queue_lock_);
  Ult* take_oldest() noexcept MPC_REQUIRES(queue_lock_);
  static void fetch_ahead(const Ult& next) noexcept;

  // Held by the owner, or by a thief. Unless shared_ only the owner comes here, or the thread that
  // holds the worker still, and nothing is locked; clang's analysis cannot know that.
  class MPC_SCOPED_CAPABILITY QueueLock {
   public:
    explicit QueueLock(Worker& worker) noexcept
        MPC_ACQUIRE(worker.queue_lock_) MPC_NO_THREAD_SAFETY_ANALYSIS
        : worker_(worker) {
      if (worker_.shared_) worker_.queue_lock_.lock();
    }
    ~QueueLock() MPC_RELEASE() MPC_NO_THREAD_SAFETY_ANALYSIS {
      if (worker_.shared_) worker_.queue_lock_.unlock();
    }
    QueueLock(const QueueLock&) = delete;

   private:
    Worker& worker_;
  };

  // The owner's cache line. head_ is atomic because hints read it.
  std::atomic<Ult*> head_{nullptr};
  Ult* tail_ MPC_GUARDED_BY(queue_lock_) = nullptr;
  std::atomic<const TaskPath*> used_path_{nullptr};  // null: no task was ever submitted
  std::atomic<uint64_t> spun_at_{0};                 // a switch_count; see has_spun()
  int index_;
  int core_;
  SchedulerImpl& scheduler_;
  const bool shared_;
  SpinLock<YieldAtOnce> queue_lock_;  // it is hardly ever found held
  const std::atomic<bool>& stopping_;
  const TaskPath* task_path_ =
      nullptr;  // null: a pen (see SchedulerImpl), without tasks
  std::atomic<Poller*> poller_{nullptr};
  std::atomic<Spins> spins_{Spins::kInVain};

  // The cache line that every thread writes.
  alignas(64) MpscStack<Ult, &Ult::next> inbox_;
  // Not 0: the owner sleeps or is about to; on the futex,
  // or on descriptors: then the bell is added.
  static constexpr uint32_t kOnFutex = 1, kOnDescriptors = 2;
  // What a waker does that has found `on` there. Also used where nothing may be called: Donor.
  [[gnu::always_inline]] static void end_sleep(const FutexWord& sleeping,
                                               uint32_t on) noexcept {
    // A bell that rings after the end of this sleep ends the
    // next one, which is then a futile wake-up.
    if (on >= kOnDescriptors) {
      const uint64_t one = 1;
      raw_syscall(SYS_write, static_cast<long>(on - kOnDescriptors),
                  reinterpret_cast<long>(&one), sizeof one);
    } else {
      futex_wake(sleeping);
    }
  }
  alignas(64) FutexWord sleeping_{0};
  std::atomic<uint64_t> woken_at_ns_{0};  // by wake(); a hint, for WakeTime
  void note_wake_time(uint64_t since_ns) noexcept;

  alignas(64) std::atomic<uint64_t> next_deadline_ns_{kNever};
  Mutex timer_lock_;
  std::vector<Ult*> timers_ MPC_GUARDED_BY(timer_lock_);  // heap, the earliest first
};

}  // namespace mpc::sched
