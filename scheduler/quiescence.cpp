#include "scheduler/quiescence.h"

#include "scheduler/hold.h"
#include "scheduler/kernel_thread.h"
#include "scheduler/outside_work.h"
#include "scheduler/poll/poller.h"

namespace mpc::sched {
namespace {

// The execution is parked, and only another execution can end that.
bool waits_for_others(Execution& execution) {
  Hold hold(execution);
  return hold.is_held() && !execution.has_deadline() &&
         !execution.wait_reason()->can_end_by_itself();
}

}  // namespace

void Quiescence::set_handler(QuiescenceHandler handler, TrafficCount traffic) {
  const Locked lock(lock_);
  handler_ = std::move(handler);
  traffic_ = std::move(traffic);
}

bool Quiescence::has_handler() noexcept {
  const Locked lock(lock_);
  return static_cast<bool>(handler_);
}

bool Quiescence::counts_traffic() noexcept {
  const Locked lock(lock_);
  return static_cast<bool>(traffic_);
}

// Under the lock: set_handler() waits for it.
uint64_t Quiescence::traffic() noexcept {
  const Locked lock(lock_);
  return traffic_ ? traffic_() : 0;
}

bool Quiescence::is_reached(uint64_t& activity) noexcept {
  const bool is_counted = counts_traffic();
  if (!has_handler() || (poller_.reaches_other_processes() && !is_counted))
    return false;
  const Rest rest = look();
  activity = rest.epoch;
  return rest.kind == Rest::kOfAll || (rest.kind == Rest::kEmpty && is_counted);
}

void Quiescence::call_handler() noexcept {
  QuiescenceHandler handler;
  {
    const Locked lock(lock_);
    handler = handler_;
  }
  if (handler) handler();
}

// The epoch is complete only in a state of rest.
Rest Quiescence::look() noexcept {
  Rest rest;
  uint64_t& activity = rest.epoch;
  activity = traffic();
  // Before all other checks: what a poll has made ready is seen below, or changes a count.
  if (!poller_.is_at_rest()) return rest;
  if (!counts_traffic()) activity += poller_.activity();
  const OutsideWork outside = outside_work();
  if (outside.is_under_way) return rest;
  activity += outside.begun;
  for (const auto& worker : workers_) {
    activity += worker->switch_count.load(std::memory_order_relaxed);
    if (worker->next_deadline_ns() != kNever) return rest;
  }
  activity += tasks_.finished();
  if (!tasks_.is_at_rest()) return rest;
  const bool is_empty = ults_.is_empty();
  bool is_quiet = is_empty || ults_.has_only(&waits_for_others);
  if (!is_quiet || is_kernel_thread_expected()) return rest;
  for_each_kernel_thread([&](KernelThread& thread) {
    if (thread.identity() == nullptr) return;
    activity += thread.park_count();
    if (!waits_for_others(thread)) is_quiet = false;
  });
  if (is_quiet) rest.kind = is_empty ? Rest::kEmpty : Rest::kOfAll;
  return rest;
}

// The monitor knows from its ticks that no worker runs; this function checks each worker.
Rest Quiescence::rest() noexcept {
  for (const auto& worker : workers_)
    if (!worker->is_sleeping() || worker->has_ready()) return {};
  return look();
}

Quiet Quiescence::quiet() noexcept {
  const Rest seen = rest();
  return {seen.kind == Rest::kOfAll, seen.epoch};
}

}  // namespace mpc::sched
