#pragma once
// Spin: how long whoever waits may poll before it sleeps (setting sched.spin_us).
//
// Role:      the budget behind SpinBudget and of a worker that looks for tasks.
// Users:     scheduler only.
// Threads:   any.
// See also:  scheduler/execution.h (SpinBudget), docs/scheduler.md section "Spinning".

#include <cstdint>

namespace mpc::sched {

uint64_t spin_budget_ns() noexcept;

}  // namespace mpc::sched
