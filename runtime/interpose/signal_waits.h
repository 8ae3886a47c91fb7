#pragma once
// Signal waits: signals without a handler that a rank has blocked to wait for them by sigwait() and its kin.
//
// Role:      a process's threads all block such a signal, so it stays pending until one waits for it. In a job other
//            ranks' threads, and the runtime's, do not block it, and it would end the job there. So it
//            is caught, and given to the thread that waits, or else to the rank's main thread, where it is pending.
// Users:     runtime/interpose (masks, sigwait(), kill(); the common handler by give_to_waiter() in signals.h).
// Threads:   any thread of a rank.
// See also:  docs/limits.md, section "Threads and signals"; POSIX.1 sigwait(), sigtimedwait().

#include <csignal>

#include "runtime/job/rank.h"

namespace mpc::interpose::signal_waits {

// The rank's main thread has changed its mask: `how` and `set` of sigprocmask().
void note_mask(job::Rank& rank, int how, const sigset_t& set) noexcept;

// As long as this object lives the calling thread of the rank waits for one of `set`.
class Waiting {
 public:
  Waiting(const job::Rank& rank, const sigset_t& set) noexcept;
  ~Waiting();
  Waiting(const Waiting&) = delete;

 private:
  const job::Rank& rank_;
  const sigset_t& set_;
  const int thread_;
};

// The thread of the rank that waits for the signal; 0: none.
int thread_for(const job::Rank& rank, int signal) noexcept;

}  // namespace mpc::interpose::signal_waits
