#pragma once
// CPU time: how long a user-level thread has run, as a kernel thread's CPU clock would say.
//
// Role:      the clock of a rank's main thread. Off until somebody asks, or says at the start
//            that somebody will: then each switch reads a clock. A short stretch between two
//            switches counts with its duration; at the end of a longer one, in which the kernel
//            may have run others, the CPU clock of the kernel thread is asked.
// Users:     runtime/interpose (clock, getrusage ...); scheduler/carrier.cpp counts.
// Threads:   see each function.
// See also:  clock_gettime(2), docs/limits.md.

#include <atomic>
#include <cstdint>

#include "scheduler/execution.h"

namespace mpc::sched {

namespace detail {
extern std::atomic<bool> g_counts_cpu_time;
}

// Relaxed: a carrier that sees it late counts from then on.
inline bool counts_cpu_time() noexcept {
  return detail::g_counts_cpu_time.load(std::memory_order_relaxed);
}
// Caller: any.
void count_cpu_time() noexcept;

// CPU time of a user-level thread since counting began, up to now if it is the caller, else up
// to its last switch. 0 for a kernel thread. Caller: any. Switches: no.
uint64_t cpu_time_ns(Execution& execution) noexcept;

// One carrier's account. Only the kernel thread of that carrier uses it.
class CpuAccount {
 public:
  // What has run here since the last call gets its time in `*ran` (null: nobody does).
  void charge(std::atomic<uint64_t>* ran) noexcept;

 private:
  uint64_t since_ns_ = 0;    // now_ns() at the last call; 0: there was none
  uint64_t cpu_ns_ = 0;      // the thread's CPU clock when it was last read
  uint64_t counted_ns_ = 0;  // short stretches since then
};

}  // namespace mpc::sched
