#pragma once
// Clock: the time that deadlines are counted in.
//
// Role:      nanoseconds of CLOCK_MONOTONIC.
// Users:     tools/mpclaunch.
// Threads:   any.
// See also:  clock_gettime(2).

#include <time.h>

#include <cstdint>

namespace mpc::launch {

inline constexpr uint64_t kMs = 1'000'000;

inline uint64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 * kMs +
         static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace mpc::launch
