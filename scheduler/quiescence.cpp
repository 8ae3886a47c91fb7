#include "scheduler/quiescence.h"

#include "scheduler/hold.h"
#include "scheduler/kernel_thread.h"
#include "scheduler/outside_work.h"
#include "scheduler/poll/poller.h"

namespace mpc::sched {
namespace {

// Parked, and only another execution can end that.
bool waits_for_others(Execution& execution) {
  Hold hold(execution);
  return hold.is_held() && !execution.has_deadline() &&
         !execution.wait_reason()->can_end_by_itself();
}

}  // namespace

void Quiescence::set_handler(QuiescenceHandler handler) {
  const Locked lock(lock_);
  handler_ = std::move(handler);
}

bool Quiescence::has_handler() noexcept {
  const Locked lock(lock_);
  return static_cast<bool>(handler_);
}

void Quiescence::call_handler() noexcept {
  QuiescenceHandler handler;
  {
    const Locked lock(lock_);
    handler = handler_;
  }
  if (handler) handler();
}

// `activity` is complete only if it says yes.
bool Quiescence::is_quiet(uint64_t& activity) noexcept {
  // Before all others: what a poll has made ready is seen below, or moves a count.
  if (!poller_.is_at_rest()) return false;
  activity += poller_.activity();
  const OutsideWork outside = outside_work();
  if (outside.is_under_way) return false;
  activity += outside.begun;
  for (const auto& worker : workers_) {
    activity += worker->switch_count.load(std::memory_order_relaxed);
    if (worker->next_deadline_ns() != kNever) return false;
  }
  activity += tasks_.finished();
  if (!tasks_.is_at_rest()) return false;
  bool is_quiet = ults_.has_only(&waits_for_others);
  if (!is_quiet || is_kernel_thread_expected()) return false;
  for_each_kernel_thread([&](KernelThread& thread) {
    if (thread.identity() == nullptr) return;
    activity += thread.park_count();
    if (!waits_for_others(thread)) is_quiet = false;
  });
  return is_quiet;
}

// The monitor knows from its ticks that no worker runs; this one looks at each.
Quiet Quiescence::quiet() noexcept {
  Quiet quiet;
  for (const auto& worker : workers_)
    if (!worker->is_sleeping() || worker->has_ready()) return quiet;
  quiet.is_quiet = is_quiet(quiet.epoch);
  return quiet;
}

}  // namespace mpc::sched
