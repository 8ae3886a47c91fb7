#pragma once
// MovingAverage: the usual value of a quantity that is measured again and again.
//
// Role:      each new value counts an eighth, so that one odd value changes little and eight in a
//            row change most. For durations that decide whether something is worth its price.
// Users:     scheduler/progress.
// Threads:   any. It is a hint: of two simultaneous notes one may be lost.
// See also:  base/counter.h for sums.

#include <atomic>
#include <cstdint>

namespace mpc {

class MovingAverage {
 public:
  // first: the value that is assumed before anything is measured.
  explicit constexpr MovingAverage(uint64_t first) noexcept : usual_(first) {}

  uint64_t get() const noexcept { return usual_.load(std::memory_order_relaxed); }
  // value: below 2^60.
  void note(uint64_t value) noexcept {
    usual_.store((7 * get() + value) / 8, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> usual_;
};

}  // namespace mpc
