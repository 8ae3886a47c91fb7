#pragma once
// CpuAccount: how long each user-level thread has run on one kernel thread.
//
// Role:      off until somebody asks for it; then each switch reads a clock. A short stretch
//            between two switches counts with its duration. At the end of a longer stretch, in
//            which the kernel may have run other threads, the CPU clock of the kernel thread is
//            read.
// Users:     scheduler: carriers, scheduler/cpu_time.h.
// Threads:   see each function.
// See also:  clock_gettime(2).

#include <atomic>
#include <cstdint>

namespace mpc::sched {

namespace detail {
extern std::atomic<bool> g_counts_cpu_time;
}

// Relaxed: a carrier that sees the change late counts from then on.
inline bool counts_cpu_time() noexcept {
  return detail::g_counts_cpu_time.load(std::memory_order_relaxed);
}
// Caller: any.
void count_cpu_time() noexcept;

// One carrier's account. Only that carrier's kernel thread uses it.
class CpuAccount {
 public:
  // Adds the time since the last call to `*ran`, the counter
  // of the Ult that ran (null: no Ult did).
  void charge(std::atomic<uint64_t>* ran) noexcept;

 private:
  uint64_t since_ns_ = 0;    // now_ns() at the last call; 0: there was none
  uint64_t cpu_ns_ = 0;      // the thread's CPU clock when it was last read
  uint64_t counted_ns_ = 0;  // short stretches since then
};

}  // namespace mpc::sched
