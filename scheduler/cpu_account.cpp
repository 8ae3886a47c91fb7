#include "scheduler/cpu_account.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "scheduler/execution.h"

namespace mpc::sched {

namespace detail {
constinit std::atomic<bool> g_counts_cpu_time{false};
}

namespace {

// Reading the CPU clock is a system call of 0.2 us: little compared with this.
constexpr uint64_t kLongStretchNs = 50'000;

// Not clock_gettime(): for a rank that returns the rank's time.
uint64_t kernel_thread_cpu_ns() noexcept {
  timespec time{};
  ::syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

void count_cpu_time() noexcept {
  detail::g_counts_cpu_time.store(true, std::memory_order_relaxed);
}

void CpuAccount::charge(std::atomic<uint64_t>* ran) noexcept {
  const uint64_t now = now_ns();
  const uint64_t elapsed = now - since_ns_;
  const bool is_first = since_ns_ == 0;
  since_ns_ = now;
  uint64_t used = elapsed;
  if (is_first || elapsed >= kLongStretchNs) {
    const uint64_t cpu = kernel_thread_cpu_ns();
    const uint64_t sum = cpu - cpu_ns_;
    used = is_first ? 0 : std::min(elapsed, sum - std::min(sum, counted_ns_));
    cpu_ns_ = cpu;
    counted_ns_ = 0;
  } else {
    counted_ns_ += elapsed;
  }
  // One writer at a time: the carrier that switches the Ult away, or the Ult itself.
  if (ran != nullptr)
    ran->store(ran->load(std::memory_order_relaxed) + used, std::memory_order_relaxed);
}

}  // namespace mpc::sched
