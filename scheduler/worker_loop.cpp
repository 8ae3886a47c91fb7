#include "scheduler/worker_loop.h"

#include <immintrin.h>

#include <algorithm>

#include "base/trace.h"
#include "scheduler/poll/poller.h"
#include "scheduler/spin.h"

namespace mpc::sched {

void WorkerLoop::run() noexcept {
  for (;;) {
    carrier_.wait_for_worker();
    if (is_stopping()) return;
    parts_.bindings.follow(carrier_.worker()->index());
    run_worker();
    if (!is_stopping()) parts_.carriers.add_spare(carrier_);
  }
}

void WorkerLoop::run_worker() noexcept {
  Worker& worker = *carrier_.worker();
  trace::runs();
  while (!is_stopping()) {
    if (worker.has_ready() && worker.has_task()) {
      if (was_idle_) end_idle(worker);
      parts_.tasks.run_one(worker);
    }
    Ult* ult = worker.pop();
    if (ult == nullptr) ult = parts_.stealing.take_for(worker);
    if (ult == nullptr) {
      idle(worker);
      continue;
    }
    if (was_idle_) end_idle(worker);
    worker.is_idle.store(false, std::memory_order_relaxed);
    carrier_.resume(*ult);
    // The Ult that came back may have lost the worker: then this thread is a spare.
    if (carrier_.has_lost_worker()) return;
  }
}

// Ends what counts only while this thread looks for work.
void WorkerLoop::end_idle(Worker& worker) noexcept {
  parts_.tasks.pass_on(worker);
  was_idle_ = false;
  if (looks_at_ != nullptr) looks_at_->end_look(true);
  looks_at_ = nullptr;
}

uint64_t WorkerLoop::spin_ns() const noexcept {
  return looks_at_ == nullptr ? spin_budget_ns()
                              : std::max(spin_budget_ns(), looks_at_->idle_spin_ns());
}

// The last of several ranks has parked, without spinning, because others were ready then: so the
// worker waits actively before this core sleeps. For arrivals from outside it does so in any case,
// also on a single core, because being woken for them takes long.
void WorkerLoop::begin_spinning(const Worker& worker) noexcept {
  const uint64_t switches = worker.switch_count.load(std::memory_order_relaxed);
  const bool has_waited = worker.has_spun() || parts_.worker_count == 1;
  if (switches != idle_since_switch_ && (!has_waited || looks_at_ != nullptr))
    task_spin_end_ns_ = now_ns() + spin_ns();
  idle_since_switch_ = switches;
}

void WorkerLoop::idle(Worker& worker) noexcept {
  TaskQueues& tasks = parts_.tasks;
  if (looks_at_ == nullptr && (looks_at_ = worker.poller()) != nullptr) [[unlikely]]
    looks_at_->begin_look();
  begin_spinning(worker);
  worker.is_idle.store(true, std::memory_order_relaxed);
  tasks.begin_idle(worker);
  const TaskQueues::Taken taken = look_for_task(worker);
  if (taken.task == nullptr && !may_steal_soon(worker) && sleep(worker))
    parts_.monitor.nudge();
  tasks.end_idle(worker);
  was_idle_ = true;
  if (taken.task == nullptr) return;
  worker.is_idle.store(false, std::memory_order_relaxed);
  end_idle(worker);  // other workers take the other tasks while this one runs
  tasks.run(worker, taken);
  was_idle_ = true;
  task_spin_end_ns_ = now_ns() + spin_ns();
}

inline bool WorkerLoop::look_outside(uint64_t now) noexcept {
  return looks_at_ != nullptr && looks_at_->turn(now, Poller::Looker::kIdle);
}

// False: the worker did not sleep.
bool WorkerLoop::sleep(Worker& worker) noexcept {
  parts_.tasks.flush_counts(worker);
  if (looks_at_ == nullptr) return worker.sleep() != Worker::Slept::kNot;
  const Poller::Bed bed = looks_at_->go_to_sleep();
  const Worker::Slept slept = worker.sleep(bed.descriptors);
  looks_at_->wake_up(bed, slept == Worker::Slept::kUntilCalled);
  return slept != Worker::Slept::kNot;
}

// Does another worker have a ready thread that it will not run soon? Waits until that is clear, but
// not for a worker that keeps switching, whose threads are ready for only an instant each.
bool WorkerLoop::may_steal_soon(Worker& worker) noexcept {
  Theft* theft = parts_.stealing.theft_of(worker);
  if (theft == nullptr) return false;
  const uint64_t end = now_ns() + theft->longest_patience_ns();
  for (;;) {
    const uint64_t now = now_ns();
    look_outside(now);
    const Theft::Verdict verdict = theft->look(now);
    if (verdict != Theft::Verdict::kSoon) return verdict == Theft::Verdict::kDue;
    if (now >= end || worker.has_ready() || worker.has_task() ||
        worker.next_deadline_ns() <= now || is_stopping())
      return false;  // sleep() checks all of these but the first
    constexpr int kPausesPerClockRead = 16;
    for (int i = 0; i < kPausesPerClockRead; ++i) _mm_pause();
  }
}

// The next task. After one task another is likely: looks for as long as a rank would poll.
TaskQueues::Taken WorkerLoop::look_for_task(Worker& worker) noexcept {
  constexpr int kPausesPerClockRead = 16;
  Theft* theft = parts_.stealing.theft_of(worker);
  const uint64_t look_ns = task_spin_end_ns_ - spin_ns() + Theft::kWaitBeforeLookNs;
  for (;;) {
    const TaskQueues::Taken taken = parts_.tasks.take(worker);
    if (taken.task != nullptr || worker.has_ready() || task_spin_end_ns_ == 0)
      return taken;
    for (int i = 0; i < kPausesPerClockRead; ++i) {
      if (worker.has_task() || worker.has_ready()) break;
      _mm_pause();
    }
    const uint64_t now = now_ns();
    if (look_outside(now)) task_spin_end_ns_ = now + spin_ns();  // more may follow
    if (theft != nullptr && now >= look_ns && theft->look(now) == Theft::Verdict::kDue)
      task_spin_end_ns_ = 0;
    if (now < task_spin_end_ns_ && now < worker.next_deadline_ns()) continue;
    task_spin_end_ns_ = 0;
  }
}

}  // namespace mpc::sched
