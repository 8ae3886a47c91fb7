#pragma once
// Spin: how long whoever waits may poll before it sleeps (setting sched.spin_us).
//
// Role:      the budget behind SpinBudget and of a worker that looks for tasks.
// Users:     scheduler; runtime/message for a wait too short to read a clock.
// Threads:   any.
// See also:  scheduler/execution.h (SpinBudget), docs/scheduler.md section "Spinning".

#include <cstdint>

namespace mpc::sched {

uint64_t spin_budget_ns() noexcept;

// Would SpinBudget allow an Ult to spin right now? False for executions without a worker.
// Cost: a few loads of lines of our own.
bool spinning_pays() noexcept;

}  // namespace mpc::sched
