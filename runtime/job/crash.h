#pragma once
// Crash: one clear report when a rank dies of a signal.
//
// Role:      SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT end the job with the rank, the core,
//            the signal, the address and a symbolised backtrace; a stack overflow says so. The
//            report needs neither the heap nor a lock. Then a core file, if `ulimit -c` asks.
// Users:     runtime/job/node_job.cpp (for kernel threads of the runtime, too); runtime/interpose
//            (threads of ranks), runtime/message (at_fault).
// Threads:   the handler runs on the crashed thread, on a signal stack of its own.
// See also:  docs/mpcrun.md. A program's own handlers replace ours, as in any process.

#include <cstddef>

namespace mpc::job {
class EndableJob;
class ReportText;
struct Rank;
}  // namespace mpc::job
namespace mpc::sched {
class Execution;
}

namespace mpc::job::crash {

// Gives the calling kernel thread a signal stack, so that a stack overflow can be reported.
void prepare_kernel_thread();

// The same for a thread that ends before the process does.
class SignalStack {
 public:
  SignalStack() noexcept;
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;

 private:
  void* memory_;
};

// True from the first signal on: crashed threads may hold locks.
bool is_reporting() noexcept;
// Is the caller in the handler that writes the report? And the execution that this handler runs for
// (null: none).
bool is_reporting_thread() noexcept;
const sched::Execution* reporter() noexcept;

// Installs the handlers and the CHECK and log prefixes. Caller: once, before ranks start.
void install(EndableJob& job);

// The rank that has set the timer of SIGALRM, SIGVTALRM or SIGPROF;
// null: none. Called in the signal handler.
using TimerOwner = const Rank* (*)(int signal) noexcept;
// Caller: a constructor function of the library.
void set_timer_owner(TimerOwner owner) noexcept;

// What an upper layer knows about an address that the calling thread could not access: adds
// words such as ", copying to the buffer of rank 1's MPI_Recv", if the access was for another rank.
// Called in the signal handler, guarded: it may crash, and must not wait.
using FaultHook = void (*)(const void* address, ReportText& text);
// Caller: a constructor function of the library.
void at_fault(FaultHook hook) noexcept;

}  // namespace mpc::job::crash
