#pragma once
// Thread state: what the kernel says of a thread of this process.
//
// Role:      for threads that look at others: does it run, for how long has it run?
// Users:     the monitor; runtime/job (profiler.cpp).
// Threads:   any.
// See also:  docs/scheduler.md section "Hand-over", proc(5).

#include <cstdint>

namespace mpc::sched {

// The kernel's state letter: 'R' runs or is ready, 'S' sleeps, 'D' waits for a disk; 'R' also if there is no such
// thread. Cost: three system calls.
char thread_state(int tid) noexcept;

// CPU time of a thread so far; 0: there is no such thread. Cost: a system call.
uint64_t thread_cpu_ns(int tid) noexcept;

}  // namespace mpc::sched
