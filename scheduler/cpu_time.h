#pragma once
// CPU time: how long a user-level thread has run, as the CPU clock of a kernel thread would say.
//
// Role:      the clock of a rank's main thread. Off until it is read for the first time, or until
//            count_cpu_time() says at the start that it will be read.
// Users:     runtime/interpose (clock, getrusage ...).
// Threads:   see each function.
// See also:  scheduler/cpu_account.h, docs/limits.md.

#include <cstdint>

#include "scheduler/cpu_account.h"
#include "scheduler/execution.h"

namespace mpc::sched {

// CPU time of a user-level thread since counting began: up to now if it is the caller, else up
// to its last switch. 0 for a kernel thread. Caller: any. Switches: no.
uint64_t cpu_time_ns(Execution& execution) noexcept;

}  // namespace mpc::sched
