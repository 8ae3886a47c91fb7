#pragma once
// Crash: one clear report when a rank dies of a signal.
//
// Role:      SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT end the job with the rank, the core,
//            the signal, the address and a symbolised backtrace; a stack overflow says so.
// Users:     runtime/job/node_job.cpp, scheduler (through SchedulerConfig::on_kernel_thread).
// Threads:   the handler runs on the crashed thread, on a signal stack of its own.
// See also:  docs/mpcrun.md. A program's own handlers replace ours, as in any process.

namespace mpc::job::crash {

// Gives the calling kernel thread a signal stack, so that a stack overflow can be reported.
void prepare_kernel_thread();

// True from the first signal on: locks may be held by what crashed.
bool is_reporting() noexcept;

// Installs the handlers and the CHECK and log prefixes. Caller: once, before ranks start.
void install();

}  // namespace mpc::job::crash
