#pragma once
// Rank signals: the handlers that a rank has installed are its own.
//
// Role:      sigaction() and signal() of a rank fill a table of the rank; the process has one
//            function for such a signal, which finds the rank that is meant: for a fault, raise()
//            and abort() the one that caused it; for a timer the one that set it; for others
//            the one that installed a handler last. The handler runs on the kernel thread of that
//            rank's main thread.
// Users:     runtime/interpose (raise, abort, calls that wait).
// Threads:   any thread of a rank.
// See also:  docs/limits.md, section "Threads and signals"; sigaction(2).

#include <cstdint>

#include "runtime/job/rank.h"

namespace mpc::interpose {

// How many handlers without SA_RESTART have run for this rank. A call that waits by parking ends with
// EINTR when it has changed since the call began. Caller: any.
uint32_t interruptions_of(const job::Rank& rank) noexcept;

// raise() of a signal that the runtime has blocked in all threads (see job::SignalThread): runs
// the rank's handler here. False: it is another signal, or the rank has no handler for it.
bool run_handler_here(int signal) noexcept;

}  // namespace mpc::interpose
