#pragma once
// CpuAccount: how long each user-level thread has run on one kernel thread.
//
// Role:      off until it is asked for; then each switch reads a clock. A short stretch between two
//            switches counts with its duration; at the end of a longer one, in which the kernel
//            may have run others, the CPU clock of the kernel thread is asked.
// Users:     scheduler: carriers, scheduler/cpu_time.h.
// Threads:   see each function.
// See also:  clock_gettime(2).

#include <atomic>
#include <cstdint>

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
