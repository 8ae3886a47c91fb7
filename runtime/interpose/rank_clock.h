#pragma once
// ThreadClock: counts the CPU time of a thread that a rank has started as the rank's.
//
// Role:      clock(), getrusage(), times(), CLOCK_PROCESS_CPUTIME_ID of a rank are its main
//            thread's time (scheduler/cpu_time.h) and that of its threads.
// Users:     runtime/interpose/threads.cpp: one on the stack of each thread of a rank.
// Threads:   the thread itself.

#include <cstdint>

#include "runtime/job/rank.h"

namespace mpc::interpose {

// The time of the rank's threads that have not ended. Caller: any.
uint64_t live_threads_ns(const job::Rank& rank) noexcept;

class ThreadClock {
 public:
  explicit ThreadClock(const job::Rank& rank) noexcept;
  ~ThreadClock();
  ThreadClock(const ThreadClock&) = delete;
  ThreadClock& operator=(const ThreadClock&) = delete;

 private:
  friend uint64_t live_threads_ns(const job::Rank& rank) noexcept;
  const job::Rank* rank_;
  int id_;  // of the thread's CPU clock
  ThreadClock* previous_ = nullptr;
  ThreadClock* next_ = nullptr;
};

}  // namespace mpc::interpose
