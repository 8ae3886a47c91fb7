#pragma once
// Rank signals: the ranks' own handlers for a signal that ends the job (SIGTERM, SIGINT, SIGHUP).
//
// Role:      what the end of a job needs of runtime/interpose, which knows the handlers.
// Users:     runtime/job (signals, node_job).
// Threads:   any, not in a signal handler.
// See also:  runtime/interpose/ending_signals.cpp; docs/mpcrun.md, section "Signals".

namespace mpc::job::rank_signals {

struct Functions {
  int (*takers)(int signal);
  void (*give)(int signal);
  int (*push)();
};
// Caller: a constructor function of the library.
void set(const Functions& functions) noexcept;

// The number of ranks of this process that have a handler for `signal`.
int takers(int signal);
// Lets these handlers run, each on its rank. Caller: the end of the job has been requested, so that
// what the handlers do is no other reason for it.
void give(int signal);
// Asks ranks whose handlers have not begun to run them now: once may be too early for a rank that
// is being switched to. Returns their number.
int push();

}  // namespace mpc::job::rank_signals
