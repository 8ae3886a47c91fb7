#pragma once
// Guarded: runs a step of a crash report that may itself crash, or wait for a lock forever.
//
// Role:      the steps for which there is no safe way (flushing streams, unwinding a damaged
//            stack, demangling names) are tried; a step that fails costs its own output,
//            never the report.
// Users:     runtime/job/crash.cpp.
// Threads:   one thread of the process, the one that writes the report, in its signal handler.
// See also:  docs/mpcrun.md section "When something goes wrong".

namespace mpc::job {

// Calls `step`. False: it crashed or was not finished in time, and was abandoned; locks
// that it has acquired stay held. Not nested. The signals of crashes must lead to leave_guarded().
bool guarded(unsigned milliseconds, void (*step)(void* argument),
             void* argument) noexcept;

template <class Step>
bool guarded(unsigned milliseconds, Step&& step) noexcept {
  return guarded(
      milliseconds, [](void* argument) { (*static_cast<Step*>(argument))(); }, &step);
}

// For the handler of a crash: jumps back to guarded() if the
// calling thread is in it; otherwise returns.
void leave_guarded() noexcept;

}  // namespace mpc::job
