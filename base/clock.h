#pragma once
// Clock: the time base of deadlines.
//
// Role:      nanoseconds of CLOCK_MONOTONIC; deadlines, and how long poll() may sleep before them.
// Users:     base/trace.cpp, runtime/loader/debugger_view.cpp, runtime/wireup,
//            tools/mpclaunch.
// Threads:   any.
// See also:  clock_gettime(2), poll(2); scheduler/execution.h, for what ranks wait for.

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace mpc {

inline constexpr uint64_t kMs = 1'000'000;

inline uint64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 * kMs +
         static_cast<uint64_t>(now.tv_nsec);
}

// The time of a pending action, which may become unnecessary before. 0: none is pending.
using Deadline = uint64_t;

// True once the deadline has passed; clears it.
inline bool take_if_over(Deadline& deadline, uint64_t now) noexcept {
  const bool is_over = deadline != 0 && deadline <= now;
  if (is_over) deadline = 0;
  return is_over;
}

// A timeout for poll(): milliseconds to the first of them, a minute at most, -1 if there is none.
inline int ms_to_first(std::initializer_list<Deadline> deadlines) noexcept {
  uint64_t first = UINT64_MAX;
  for (const Deadline deadline : deadlines)
    if (deadline != 0) first = std::min(first, deadline);
  if (first == UINT64_MAX) return -1;
  const uint64_t now = now_ns();
  if (first <= now) return 0;
  return static_cast<int>(std::min<uint64_t>((first - now) / kMs + 1, 60'000));
}

}  // namespace mpc
