#pragma once
// Clock: converts points in time of POSIX calls to the scheduler's clock.
//
// Role:      the deadline of a call with a time limit.
// Users:     runtime/interpose.
// Threads:   any.
// See also:  scheduler/execution.h (now_ns), clock_gettime(2).

#include <time.h>

#include <cstdint>

#include "scheduler/execution.h"

namespace mpc::interpose {

inline constexpr uint64_t kForEver = ~uint64_t{0};

// The same time in ns of CLOCK_MONOTONIC, kForEver if it is too far away. 0: it has passed, or is
// no valid time, or libc has to say what is wrong with it.
inline uint64_t deadline_of(clockid_t clock, const timespec* time) noexcept {
  constexpr int64_t kSecond = 1'000'000'000;
  timespec now;
  if (time == nullptr || time->tv_nsec < 0 || time->tv_nsec >= kSecond ||
      clock_gettime(clock, &now) != 0)
    return 0;
  const auto left = static_cast<double>(time->tv_sec - now.tv_sec) * kSecond +
                    static_cast<double>(time->tv_nsec - now.tv_nsec);
  constexpr double kLongest = 1e18;
  if (left >= kLongest) return kForEver;
  return left <= 0 ? 0 : sched::now_ns() + static_cast<uint64_t>(left);
}

}  // namespace mpc::interpose
