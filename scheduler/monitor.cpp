#include "scheduler/monitor.h"

#include "base/counter.h"
#include "base/log.h"
#include "base/service_thread.h"
#include "base/settings.h"
#include "scheduler/carrier.h"
#include "scheduler/poll/poller.h"
#include "scheduler/thread_state.h"

namespace mpc::sched {
namespace {

constexpr uint64_t kTickNs =
    10'000'000;  // a blocked worker is found after 1 to 2 ticks
constexpr uint64_t kRegionTickNs =
    1'000'000;  // the same while a BlockingRegion is open and others want its worker
// After a rank has blocked, because it may block again.
constexpr int kHastyTicks = 100;
constexpr uint64_t kConfirmNs = 25'000'000;    // between the two checks for a deadlock
constexpr uint64_t kSlowTickNs = 100'000'000;  // all workers asleep

IntSetting preempt_ms{"sched.preempt_ms",
                      200,
                      "ms",
                      "A rank that computes for so long while others of its core are "
                      "ready shares the core with "
                      "them, by the system's time slices; 0: never",
                      0,
                      1'000'000};

IntSetting task_tick_ms{
    "sched.task_tick_ms",
    10,
    "ms",
    "A rank that computes for so long while a task waits for its core shares the core "
    "with it, by "
    "the system's time slices; 0: tasks wait for idle moments and context switches",
    0,
    1'000'000};

Counter handover_counter{"sched.handovers",
                         "Workers taken from a kernel thread that blocked"};

constinit std::atomic<uint64_t> coarse_clock_ns{0};

}  // namespace

uint64_t coarse_now_ns() noexcept {
  const uint64_t now = coarse_clock_ns.load(std::memory_order_relaxed);
  return now != 0 ? now : now_ns();
}

Result<> Monitor::start() {
  seen_.resize(workers_.size());
  coarse_clock_ns.store(now_ns(), std::memory_order_relaxed);
  const Result<pthread_t> thread =
      start_service_thread("the monitor", &thread_main, this);
  MPC_TRY(thread);
  thread_ = *thread;
  started_ = true;
  return {};
}

void Monitor::stop() noexcept {
  if (!started_) return;
  stop_.store(true, std::memory_order_release);
  slow_.store(2, std::memory_order_seq_cst);  // ends any sleep at once
  futex_wake(slow_);
  pthread_join(thread_, nullptr);
  coarse_clock_ns.store(0, std::memory_order_relaxed);
}

void* Monitor::thread_main(void* self) {
  static_cast<Monitor*>(self)->run();
  return nullptr;
}

void Monitor::run() noexcept {
  while (!stop_.load(std::memory_order_acquire)) {
    const uint64_t pause = next_tick_ns();
    uint32_t expected = 0;
    const uint32_t mode = pause > kTickNs ? 1 : 0;
    if (slow_.compare_exchange_strong(expected, mode, std::memory_order_seq_cst))
      futex_wait_until(slow_, mode, now_ns() + pause);
    expected = 1;
    slow_.compare_exchange_strong(expected, 0, std::memory_order_relaxed);
    tick();
  }
}

void Monitor::end_slow_sleep() noexcept {
  uint32_t expected = 1;
  if (slow_.compare_exchange_strong(expected, 0, std::memory_order_relaxed))
    futex_wake(slow_);
}

uint64_t Monitor::next_tick_ns() const noexcept {
  if (region_seen_ || hasty_ticks_ > 0) return kRegionTickNs;
  if (!all_asleep_) return kTickNs;
  return is_confirming_ ? kConfirmNs : kSlowTickNs;
}

void Monitor::tick() noexcept {
  coarse_clock_ns.store(now_ns(), std::memory_order_relaxed);
  uint64_t epoch = 0;
  bool all_asleep = true;
  region_seen_ = false;
  if (hasty_ticks_ > 0) --hasty_ticks_;
  for (const auto& worker : workers_) {
    watch(*worker, seen_[static_cast<size_t>(worker->index())]);
    epoch += worker->switch_count.load(std::memory_order_relaxed);
    all_asleep = all_asleep && worker->is_sleeping() && !worker->has_ready();
  }
  all_asleep_ = all_asleep && epoch == epoch_;
  epoch_ = epoch;
  poller_.tick(coarse_clock_ns.load(std::memory_order_relaxed));
  is_confirming_ = false;
  if (all_asleep_) watch_quiescence();
  if (auto hook = tick_hook_.load(std::memory_order_acquire)) hook();
}

// ---- hand-over ---------------------------------------------------------------------------

void Monitor::watch(Worker& worker, Seen& seen) noexcept {
  const uint64_t count = worker.switch_count.load(std::memory_order_relaxed);
  const bool was_stuck = seen.stuck && seen.switch_count == count;
  const bool had_ready = seen.has_ready;
  seen.switch_count = count;
  seen.has_ready = worker.has_ready();
  seen.stuck = false;
  // The worker has more to do than the Ult that it runs, although it may switch now and then.
  if (had_ready && seen.has_ready) stealing_.wake_thief(worker);
  if (worker.is_sleeping()) return;
  Carrier& carrier = *worker.carrier.load(std::memory_order_relaxed);
  const bool in_region = carrier.in_region();
  const bool wanted =
      worker.has_ready() || worker.has_task() ||
      worker.next_deadline_ns() <= coarse_clock_ns.load(std::memory_order_relaxed);
  // If nobody wants the worker there is no haste. Each tick disturbs what runs here: a thread that
  // waits actively in the kernel for a file's lock then sleeps instead.
  region_seen_ = region_seen_ || (in_region && wanted);
  if (!wanted || carrier.is_in_runtime()) return;
  seen.stuck = true;
  const uint64_t now = coarse_clock_ns.load(std::memory_order_relaxed);
  if (!was_stuck) {
    seen.stuck_since_ns = now;
    return;
  }
  // A thread that computes keeps its worker for a while: user-level threads are not preempted.
  // After that it may be waiting actively for a rank that waits for this core; then the
  // system should share the core between it and the others.
  const auto has_lasted = [&](int64_t limit_ms) {
    return limit_ms != 0 &&
           now - seen.stuck_since_ns >= static_cast<uint64_t>(limit_ms) * 1'000'000;
  };
  // One that sleeps for a moment, again and again, would otherwise be there five times a second.
  const bool is_due = worker.next_deadline_ns() <= now && preempt_ms.get() != 0;
  const bool for_long = (worker.has_ready() && has_lasted(preempt_ms.get())) ||
                        (worker.has_task() && has_lasted(task_tick_ms.get())) || is_due;
  // In a region, too: a transfer from the system's cache computes, in the kernel. Many of them that follow each
  // other are one region at each tick, and taken away they would only lose their turn and their cache.
  const bool blocks = !for_long && thread_state(carrier.tid()) != 'R';
  if (blocks) hasty_ticks_ = kHastyTicks;
  if (for_long || blocks) hand_over(worker);
}

void Monitor::hand_over(Worker& worker) noexcept {
  Carrier* spare = carriers_.take_spare();
  if (spare == nullptr) {
    log::warn("worker {} blocks and no spare thread can be created for it",
              worker.index());
    return;
  }
  if (worker.carrier.load(std::memory_order_relaxed)->try_retake() == nullptr) {
    carriers_.add_spare(*spare);
    return;
  }
  handovers_.fetch_add(1, std::memory_order_relaxed);
  handover_counter.add();
  spare->adopt(worker);
}

// ---- deadlock ----------------------------------------------------------------------------

void Monitor::watch_quiescence() noexcept {
  const uint64_t traffic = quiescence_.traffic();
  // acquire pairs with ask_rest().
  if (reported_epoch_ == epoch_ && reported_traffic_ == traffic &&
      !is_asked_.load(std::memory_order_acquire))
    return;
  uint64_t activity = 0;
  if (!quiescence_.is_reached(activity)) {
    quiescent_epoch_ = kNoEpoch;
    return;
  }
  if (quiescent_epoch_ != epoch_ || quiescent_activity_ != activity) {
    quiescent_epoch_ = epoch_;  // check again after kConfirmNs
    quiescent_activity_ = activity;
    is_confirming_ = true;
    return;
  }
  reported_epoch_ = epoch_;
  reported_traffic_ = traffic;
  is_asked_.store(false, std::memory_order_relaxed);  // cleared before the handler runs
  quiescence_.call_handler();
}

}  // namespace mpc::sched
