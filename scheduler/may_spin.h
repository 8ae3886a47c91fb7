#pragma once
// MaySpin: does a rank that has nothing to do keep its core, or give way?
//
// Role:      the question that SpinBudget asks at each turn, for who asks it once or spins himself.
// Users:     runtime/message.
// Threads:   the calling execution's.
// See also:  scheduler/execution.h (SpinBudget).

namespace mpc::sched {

// False: another user-level thread is ready here, or nobody could bring what it waits for while it
// spins. Caller: any execution. Switches: no. Cost: a few loads of lines of our own.
bool may_spin() noexcept;
// spinning_pays(), also where sources of events are: for a message of the same process.
bool spinning_pays_within() noexcept;

}  // namespace mpc::sched
