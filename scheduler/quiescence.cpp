#include "scheduler/quiescence.h"

#include "scheduler/hold.h"
#include "scheduler/kernel_thread.h"
#include "scheduler/outside_work.h"

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

bool Quiescence::is_reached(uint64_t& activity) noexcept {
  activity = 0;
  if (!has_handler()) return false;
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

}  // namespace mpc::sched
