#pragma once
// Overflow: was a fault the end of a stack?
//
// Role:      tells a stack overflow from other wild accesses, for ranks and for the threads
//            that they start.
// Users:     runtime/job/crash.cpp.
// Threads:   signal handlers: neither heap nor locks.
// See also:  scheduler/stacks.h, docs/design/0016-stack-guards.md.

#include "scheduler/execution.h"

namespace mpc::job {

// `self` had the stack pointer `sp` when it accessed `fault`, which could not be accessed.
bool is_stack_overflow(const sched::Execution& self, const void* fault,
                       const void* sp) noexcept;

}  // namespace mpc::job
