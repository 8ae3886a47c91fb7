#pragma once
// Child signals: SIGCHLD reaches the rank whose child ended.
//
// Role:      knows the children of each rank. SIGCHLD comes to the process, once for several children
//            that end together: each rank with a handler and a child that ended gets its own.
//            Whether a rank's main thread has blocked SIGCHLD is stored here,
//            because its kernel thread also runs other ranks.
// Users:     runtime/interpose (children, child_signal_calls).
// Threads:   see each function.
// See also:  runtime/interpose/signals.h; docs/limits.md, section "Threads and signals"; wait(2).

#include <sys/types.h>

#include <csignal>

#include "runtime/job/rank.h"

namespace mpc::interpose::child_signals {

// Used around a call that may create a child: the end of a child whose number is not known yet is
// held back until note() has the number. Caller: a thread of a rank.
class Starting {
 public:
  Starting() noexcept;
  ~Starting();
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;
  // No effect for -1 (there is no child).
  void note(pid_t child) noexcept;
};

// While this object lives SIGCHLD does not reach the rank: its handler must not take the child of
// system(). Caller: a thread of a rank.
class Blocked {
 public:
  Blocked() noexcept;
  ~Blocked();
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

 private:
  bool was_blocked_;
};

// Sets whether the rank's main thread has SIGCHLD blocked; a signal that came meanwhile is
// delivered now. Returns the old value. Caller: that thread.
bool set_blocked(job::Rank& rank, bool is_blocked) noexcept;
// True: a child of the rank has ended whose SIGCHLD was not delivered, and will not be any more.
// Caller: a thread of the rank that waits for the signal.
bool take_ended(const job::Rank& rank, siginfo_t& info) noexcept;

// Has the calling rank's main thread blocked SIGCHLD? Its children inherit that.
bool is_blocked() noexcept;

}  // namespace mpc::interpose::child_signals
