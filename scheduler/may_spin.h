#pragma once
// MaySpin: should a rank that has nothing to do keep its core, or give way?
//
// Role:      the question that SpinBudget asks at each turn, for
//            code that asks once or spins by itself.
// Users:     runtime/message, nbc/direct.
// Threads:   the calling execution's.
// See also:  scheduler/execution.h (SpinBudget).

namespace mpc::sched {

// False: another user-level thread is ready here, or no other thread could provide what the caller
// waits for while it spins. Caller: any execution. Switches:
// no. Cost: a few loads from our own lines.
bool may_spin() noexcept;
// Does the caller poll for what comes from other processes while it waits actively, and say when it stops? A
// thread that a rank has made does not. Caller: any execution. Switches: no.
bool may_look() noexcept;
// Like spinning_pays(), but ignores sources of events: for a message from the same process.
bool spinning_pays_within() noexcept;
// May the caller look for a message of another process for some 2 us, before it counts as one that polls? False as
// may_spin(), or processes of the job share the core: then the other one may need it to send. Caller: any
// execution. Switches: no. Cost: a few loads.
bool may_look_closely() noexcept;
// Gives the core to other processes of the job that share it, once. False, and nothing has happened: there
// are none, or another user-level thread is ready here. Caller: any execution, that waits for
// something another process will do soon, and polls some turns later. Cost: a system call.
bool yield_to_processes() noexcept;

}  // namespace mpc::sched
