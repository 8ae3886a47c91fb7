#pragma once
// Spin: how long a waiting thread may poll before it sleeps (setting sched.spin_us).
//
// Role:      the budget behind SpinBudget, and of a worker that looks for tasks.
// Users:     scheduler.
// Threads:   any.
// See also:  scheduler/execution.h (SpinBudget), docs/scheduler.md section "Spinning".

#include <cstdint>

#include "base/settings.h"

namespace mpc::sched {

namespace detail {
extern IntSetting spin_us;
}

inline uint64_t spin_budget_ns() noexcept {
  return static_cast<uint64_t>(detail::spin_us.get()) * 1000;
}

}  // namespace mpc::sched
