#pragma once
// Spin: how long a waiting thread may poll before it sleeps.
//
// Role:      the budget behind SpinBudget, and of a worker that looks for tasks. It is the time to
//            wake a sleeping core, so that no wait costs more than twice the cheaper way; at least
//            `sched.spin_us`, at most `sched.spin_most_us`. WakeTime
//            learns it from the job's sleeps.
// Users:     scheduler.
// Threads:   any.
// See also:  scheduler/execution.h (SpinBudget), docs/scheduler.md section "Spinning".

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/settings.h"

namespace mpc::sched {

// How long the system takes from the call that wakes a worker to the worker's
// first instruction when nothing is in the way. What exceeds it shows that
// other programs have the core, and is no reason to poll for longer.
class WakeTime {
 public:
  uint64_t get_ns() const noexcept { return low_ns_.load(std::memory_order_relaxed); }
  // Records a wake-up that took `ns`. The estimate follows a shorter one by half, longer ones by a
  // sixteenth each.
  void note(uint64_t ns) noexcept;

 private:
  std::atomic<uint64_t> low_ns_{0};  // a hint: a simultaneous note may be lost
};

namespace detail {
extern IntSetting spin_us, spin_most_us;
extern WakeTime wake_time;
}  // namespace detail

// 0: never poll.
inline uint64_t spin_budget_ns() noexcept {
  const auto least = static_cast<uint64_t>(detail::spin_us.get()) * 1000;
  const auto most = static_cast<uint64_t>(detail::spin_most_us.get()) * 1000;
  return least == 0 ? 0 : std::max(least, std::min(most, detail::wake_time.get_ns()));
}

}  // namespace mpc::sched
