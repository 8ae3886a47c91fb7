#pragma once
// Origin: the worker for which a user-level thread was created, and the ways back to it.
//
// Role:      idle workers take ready threads from busy ones and keep them. Where many threads are
//            woken together they return, so that threads that
//            work together on one core do so again.
// Users:     nbc/direct, whose members of one worker meet without leaving their core; runtime/message,
//            runtime/rma, which wake those members.
// Threads:   see each function.
// See also:  scheduler/theft.h, docs/scheduler.md section "Stealing".

#include "scheduler/execution.h"

namespace mpc::sched {

// Like unpark(); a parked `execution` continues on the worker
// it was created for. Caller: any thread.
// Cost: that of unpark(), and a load.
void unpark_at_origin(Execution& execution) noexcept;

// Moves the caller to the worker it was created for. Switches: if it is on another one.
// Cost: two loads, if it is there already.
void return_to_origin() noexcept;

}  // namespace mpc::sched
