#pragma once
// Rank signals: gives each rank its own signal handlers.
//
// Role:      sigaction() and signal() of a rank fill a table of the rank; the process has one
//            function for such a signal, which finds the rank that is meant: for a fault, raise()
//            and abort() the one that caused it; for a timer the one that set it; for SIGUSR1 and
//            SIGUSR2 from outside all that have a handler; for others
//            the one that installed a handler last. The handler runs on the kernel thread of that
//            rank's main thread.
// Users:     runtime/interpose (raise, abort, calls that wait, children).
// Threads:   any thread of a rank.
// See also:  docs/limits.md, section "Threads and signals"; sigaction(2).

#include <csignal>
#include <cstdint>

#include "runtime/job/rank.h"

namespace mpc::interpose {

// Number of handlers without SA_RESTART that have run for this rank. A call that waits by parking
// ends with EINTR if the number has changed since the call began. Caller: any.
uint32_t interruptions_of(const job::Rank& rank) noexcept;

// raise() of a signal that the runtime has blocked in all threads (see job::SignalThread): runs
// the rank's handler here. False: it is another signal, or the rank has no handler for it.
bool run_handler_here(int signal) noexcept;

// The handler that the rank has installed for this signal;
// null: none. Caller: any, also signal handlers.
const struct sigaction* handler_of(const job::Rank* rank, int signal) noexcept;
// Has any rank installed a handler? Caller: any.
bool has_any_handler(int signal) noexcept;
// Runs it here. Caller: a signal handler, or a rank for itself.
void run_handler(const job::Rank* rank, int signal, siginfo_t* info, void* context);
// Is the caller, the rank's main thread, in a handler that run_handler() has called?
bool runs_handler(const job::Rank& rank) noexcept;
// The rank that has set the timer of this signal last; null: none, or no timer has it.
const job::Rank* timer_owner(int signal) noexcept;
// The rank that has made the timer (timer_create()) whose signal this is; null: it is of no such timer.
const job::Rank* timer_maker(const siginfo_t& info) noexcept;
// Number of handlers that have run for this rank. Caller: any.
uint32_t handler_runs_of(const job::Rank& rank) noexcept;

// Passes the signal on to the kernel thread that runs the rank's main thread. False: that is
// impossible, or it is this thread. Caller: any, also signal handlers.
bool pass_on(const job::Rank* rank, int signal, const siginfo_t& info) noexcept;

// The same to a thread of this process.
bool pass_on_to(int thread, int signal, const siginfo_t& info) noexcept;

// SIGUSR1 or SIGUSR2 from outside: runs the handlers of all ranks of this process that have one, each
// on its thread. False: it is another signal, or no rank has one. Called in the signal handler.
bool give_to_all(int signal, bool was_passed_on, siginfo_t* info,
                 void* context) noexcept;

// No rank has a handler for the signal. Gives it to the rank that waits for it or has blocked it (signal_waits.h): the one
// that has set the timer, all if it is SIGUSR1 or SIGUSR2 from outside, else the one that did so last. `was_passed_on`:
// to this thread. A thread that has not blocked it, because the rank was elsewhere when it did, blocks it from now on.
// False: there is no such rank. Called in the signal handler.
bool give_to_waiter(int signal, const siginfo_t& info, bool was_passed_on,
                    void* context) noexcept;
// The common handler decides about this signal, as if a rank had one. Caller: a thread of a rank.
void catch_for_waits(int signal) noexcept;
// Of a signal that a thread has waited for: as it was before pass_on().
bool restore_if_passed_on(siginfo_t& info) noexcept;

// The job ends: the signal by which a rank that computes is asked to run its handler for SIGTERM or the like.
// False: it is another one. Called in the signal handler.
bool take_carried_signal(int signal, const siginfo_t& info, void* context);
// Begins to catch it. `restarts`: system calls that it interrupts go on.
void catch_carried_signals(bool restarts);

// Runs the handlers for SIGCHLD; it knows whose child has ended. False: the signal is not for a
// rank's child. Called in the signal handler.
using ChildDispatch = bool (*)(const siginfo_t& info, bool was_passed_on,
                               void* context) noexcept;
// Caller: a constructor function of the library.
void at_child_signal(ChildDispatch dispatch) noexcept;

// The runtime's own calls mean the process, whatever rank they are made for.
bool is_own_call(const void* return_address) noexcept;

}  // namespace mpc::interpose
