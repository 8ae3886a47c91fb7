#pragma once
// Rank signals: the handlers that a rank has installed are its own.
//
// Role:      sigaction() and signal() of a rank fill a table of the rank; the process has one
//            function for such a signal, which finds the rank that is meant: for a fault, raise()
//            and abort() the one that caused it; for a timer the one that set it; for others
//            the one that installed a handler last. The handler runs on the kernel thread of that
//            rank's main thread.
// Users:     runtime/interpose (raise, abort, calls that wait, children).
// Threads:   any thread of a rank.
// See also:  docs/limits.md, section "Threads and signals"; sigaction(2).

#include <csignal>
#include <cstdint>

#include "runtime/job/rank.h"

namespace mpc::interpose {

// How many handlers without SA_RESTART have run for this rank. A call that waits by parking ends with
// EINTR when it has changed since the call began. Caller: any.
uint32_t interruptions_of(const job::Rank& rank) noexcept;

// raise() of a signal that the runtime has blocked in all threads (see job::SignalThread): runs
// the rank's handler here. False: it is another signal, or the rank has no handler for it.
bool run_handler_here(int signal) noexcept;

// What the rank has installed for this signal; null: nothing. Caller: any, signal handlers too.
const struct sigaction* handler_of(const job::Rank* rank, int signal) noexcept;
// Has any rank? Caller: any.
bool has_any_handler(int signal) noexcept;
// Runs it here. Caller: a signal handler, or a rank for itself.
void run_handler(const job::Rank* rank, int signal, siginfo_t* info, void* context);
// How many handlers have run for this rank. Caller: any.
uint32_t handler_runs_of(const job::Rank& rank) noexcept;

// Sends the signal on to the kernel thread that runs the rank's main thread. False: it cannot, or is this
// one. Caller: any, signal handlers too.
bool pass_on(const job::Rank* rank, int signal, const siginfo_t& info) noexcept;

// What knows whose child it is: runs the handlers for SIGCHLD. False: it is no signal of a rank's child.
// Called in the signal handler.
using ChildDispatch = bool (*)(const siginfo_t& info, bool was_passed_on,
                               void* context) noexcept;
// Caller: a constructor function of the library.
void at_child_signal(ChildDispatch dispatch) noexcept;

// The runtime's own calls mean the process, whichever rank they are made for.
bool is_own_call(const void* return_address) noexcept;

}  // namespace mpc::interpose
