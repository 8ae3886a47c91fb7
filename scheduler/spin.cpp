#include "scheduler/spin.h"

namespace mpc::sched {
namespace detail {

// Defaults: docs/scheduler.md section "Spinning" has the measurement.
IntSetting spin_us(
    "sched.spin_us", 20, "us",
    "How long a waiting rank polls at least before it sleeps, if no other rank of its "
    "worker is ready; 0: not at all",
    0, 1'000'000);
IntSetting spin_most_us("sched.spin_most_us", 100, "us",
                        "How long it polls at most, where to wake a core that sleeps "
                        "has been seen to take that long",
                        0, 1'000'000);
constinit WakeTime wake_time;

}  // namespace detail

void WakeTime::note(uint64_t ns) noexcept {
  const uint64_t low = get_ns();
  uint64_t next = ns;  // the first one
  if (low != 0) next = ns < low ? (low + ns) / 2 : std::min(ns, low + low / 16 + 1);
  low_ns_.store(next, std::memory_order_relaxed);
}

}  // namespace mpc::sched
