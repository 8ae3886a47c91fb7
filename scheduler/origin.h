#pragma once
// Origin: the worker for which a user-level thread was made, and the ways back there.
//
// Role:      idle workers take ready threads from busy ones and keep them; where many threads are
//            woken together they go back, so that those that work together on one core do so again.
// Users:     nbc/direct, whose members of one worker meet without leaving their core; runtime/message,
//            runtime/rma, which wake them.
// Threads:   as said.
// See also:  scheduler/theft.h, docs/scheduler.md section "Stealing".

#include "scheduler/execution.h"

namespace mpc::sched {

// unpark(); if `execution` was parked it goes on on the worker it was made for. Caller: any thread.
// Cost: that of unpark() and a load.
void unpark_at_origin(Execution& execution) noexcept;

// The caller goes on on the worker it was made for. Switches: if it is on another one.
// Cost: two loads, if it is there.
void return_to_origin() noexcept;

}  // namespace mpc::sched
