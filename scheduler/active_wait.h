#pragma once
// ActiveWait: does an execution that is not parked wait all the same, spinning?
//
// Role:      for observers that look at executions from outside (mpcrun --profile).
// Users:     runtime/job (profiler.cpp).
// Threads:   any kernel thread, while the scheduler exists.
// See also:  scheduler/execution.h (SpinBudget).

#include "scheduler/execution.h"

namespace mpc::sched {

// A hint: the Ult that runs on its worker spins. It is about `execution` only if that is this Ult.
bool spins_on_its_worker(const Execution& execution) noexcept;

}  // namespace mpc::sched
