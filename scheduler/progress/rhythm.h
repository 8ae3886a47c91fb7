#pragma once
// Rhythm: when the next piece of background work is likely to come to a core.
//
// Role:      programs that iterate start their collectives at regular intervals. Rhythm remembers
//            the last intervals between bursts of work and, if bursts have come as expected
//            lately, says when to be awake for the next one.
// Users:     scheduler/progress.
// Threads:   any; all values are hints. Concurrent calls may lose or mix up an interval.
// See also:  docs/design/0014-naps.md, tests/unit/scheduler/rhythm_test.cpp.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "base/moving_average.h"

namespace mpc::sched {

// The length of a nap that begins at `now`. The longer nothing has come, the later the next
// piece is seen: by an eighth of that time at most. `last_work` may be later than `now`, if work
// is offered at this moment. Units: ns.
inline uint64_t nap_length(uint64_t now, uint64_t last_work,
                           uint64_t shortest) noexcept {
  const uint64_t idle = now > last_work ? now - last_work : 0;
  return std::max(shortest, idle / 8);
}

class Rhythm {
 public:
  static constexpr uint64_t kLongest = 10'000'000;  // ns; a longer pause ends a rhythm

  // Notes that work comes after a pause. Units: ns of one clock.
  void note_burst(uint64_t now) noexcept {
    const uint64_t last = last_.exchange(now, std::memory_order_relaxed);
    const uint64_t interval = now - last;
    if (last == 0 || interval > kLongest) {
      hits_.store(0, std::memory_order_relaxed);
      return;
    }
    if (interval >= kShort) {
      note_deviation(interval);
      const int hits = hits_.load(std::memory_order_relaxed);
      hits_.store(std::clamp(is_known(interval) ? hits + 1 : hits - 1, 0, kMostHits),
                  std::memory_order_relaxed);
    }
    const unsigned at = next_.fetch_add(1, std::memory_order_relaxed);
    intervals_[at % intervals_.size()].store(static_cast<uint32_t>(interval),
                                             std::memory_order_relaxed);
  }

  // Did bursts mostly come when they were expected?
  bool is_steady() const noexcept {
    return hits_.load(std::memory_order_relaxed) >= kEnoughHits;
  }

  // The earliest span of time that ends after `now` in which a burst is likely: around each of the
  // last intervals after the last burst. It begins earlier by as much as bursts have been off
  // lately. {0, 0}: there is none.
  struct Window {
    uint64_t from = 0, to = 0;
  };
  Window next(uint64_t now) const noexcept {
    const uint64_t last = last_.load(std::memory_order_relaxed);
    if (last == 0 || now < last) return {};
    const uint64_t since = now - last;
    Window found;
    for (const auto& remembered : intervals_) {
      const Window window = around(remembered.load(std::memory_order_relaxed));
      if (window.to > since && (found.to == 0 || window.from < found.from))
        found = window;
    }
    if (found.to == 0) return {};
    for (size_t i = 0; i < kMemory; ++i) {  // windows that touch are merged
      for (const auto& remembered : intervals_) {
        const Window window = around(remembered.load(std::memory_order_relaxed));
        if (window.from <= found.to) found.to = std::max(found.to, window.to);
      }
    }
    return {last + found.from, last + found.to};
  }

 private:
  static constexpr size_t kMemory =
      16;  // a program may have several collectives in turn
  static constexpr uint64_t kShort = 100'000;  // ns; too short to tell intervals apart
  static constexpr int kEnoughHits = 3;
  static constexpr int kMostHits = 8;
  static constexpr uint64_t kLeastMargin = 10'000, kMostMargin = 100'000;  // ns
  static constexpr uint64_t kLeastLead = 2'000;                            // ns

  // An interval that differs by less than this counts as the same one.
  static uint64_t margin_of(uint64_t interval) noexcept {
    return std::clamp(interval / 16, kLeastMargin, kMostMargin);
  }
  // {0, 0} for 0, which stands for no interval. A core that is awake early waits for the usual
  // deviation; a late core has missed nothing yet, and stays awake for the whole margin.
  Window around(uint64_t interval) const noexcept {
    if (interval == 0) return {};
    const uint64_t margin = margin_of(interval);
    const uint64_t lead = std::min<uint64_t>(margin, 2 * deviation_.get() + kLeastLead);
    return {interval - std::min(lead, interval), interval + margin};
  }
  // Between this interval and the most similar remembered one.
  uint64_t distance(uint64_t interval) const noexcept {
    uint64_t least = kLongest;
    for (const auto& slot : intervals_) {
      const uint64_t remembered = slot.load(std::memory_order_relaxed);
      if (remembered == 0) continue;
      least = std::min(
          least, interval > remembered ? interval - remembered : remembered - interval);
    }
    return least;
  }
  bool is_known(uint64_t interval) const noexcept {
    return distance(interval) <= margin_of(interval);
  }
  void note_deviation(uint64_t interval) noexcept {
    const uint64_t now = std::min(distance(interval), kMostMargin);
    deviation_.note(now);
  }

  std::atomic<uint64_t> last_{0};
  std::atomic<unsigned> next_{0};
  std::atomic<int> hits_{0};
  MovingAverage deviation_{kMostMargin};  // of an interval from one remembered
  std::array<std::atomic<uint32_t>, kMemory> intervals_{};
};

}  // namespace mpc::sched
