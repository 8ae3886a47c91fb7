#include "nbc/model/split_memory.h"

#include <algorithm>
#include <cmath>

namespace mpc::nbc {

namespace {

// Another S must promise at least this improvement over the present one.
constexpr double kWorthAChange = 0.97;
// Measurements count for calls with about the same window, and not forever.
constexpr double kSameWindow = 0.1;
constexpr uint64_t kRemembered = 256;
constexpr int kEnough = 3;

}  // namespace

double SplitMemory::estimate_us(const SplitTime& time,
                                double window_us) const noexcept {
  const Measured& measured = measured_[static_cast<size_t>(time.split)];
  return measured.count >= kEnough ? window_us + measured.excess_us
                                   : time.overlapped_us(window_us);
}

int SplitMemory::best(const std::vector<SplitTime>& times,
                      double window_us) const noexcept {
  const size_t count = std::min(times.size(), kMostSplits);
  const SplitTime* found = &times.front();
  const SplitTime* present = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (times[i].split == current_) present = &times[i];
    if (estimate_us(times[i], window_us) < estimate_us(*found, window_us))
      found = &times[i];
  }
  const bool stays =
      present != nullptr &&
      estimate_us(*found, window_us) > kWorthAChange * estimate_us(*present, window_us);
  return stays ? current_ : found->split;
}

void SplitMemory::forget() noexcept {
  measured_.fill({});
  measured_at_us_ = window_us_;
  current_ = -1;
}

SplitMemory::Decision SplitMemory::decide(uint64_t call,
                                          const std::vector<SplitTime>& times,
                                          double nominal_us, double window_factor) {
  if (times.empty()) return {};
  Call& slot = calls_[call % kCalls];
  const auto found = [&]() -> int {
    // Acquire pairs with the release below: predicted_us.
    const uint64_t decided = slot.decided.load(std::memory_order_acquire);
    return decided / kMostSplits == call + 1 ? static_cast<int>(decided % kMostSplits)
                                             : -1;
  };
  int split = found();
  if (split < 0) {
    const std::lock_guard lock(mutex_);
    split = found();
    if (split < 0) {
      if (std::abs(window_us_ - measured_at_us_) >
              kSameWindow * std::abs(measured_at_us_) ||
          ++decisions_ % kRemembered == 0)
        forget();
      const bool is_known = window_us_ >= 0;
      const double window = is_known ? window_us_ * window_factor : nominal_us;
      split = best(times, window);
      current_ = is_known ? split : -1;
      slot.window_us = is_known ? window : -1;
      // Relaxed: hints for learn(); a rank that is a round of calls late may spoil one.
      slot.longest_ns.store(0, std::memory_order_relaxed);
      slot.ended.store(0, std::memory_order_relaxed);
      const auto& time = times[static_cast<size_t>(
          std::min<int64_t>(split, static_cast<int64_t>(times.size()) - 1))];
      // Relaxed: the store after it publishes it.
      slot.predicted_us.store(is_known ? time.overlapped_us(window) : 0,
                              std::memory_order_relaxed);
      slot.decided.store((call + 1) * kMostSplits + static_cast<uint64_t>(split),
                         std::memory_order_release);  // pairs with found()
    }
  }
  return {split, slot.predicted_us.load(std::memory_order_relaxed)};
}

void SplitMemory::note_window(double us) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  // Each rank's value counts a little.
  const double weight = 1.0 / (2.0 * std::max(1, ranks_));
  window_us_ = window_us_ < 0 ? us : window_us_ + weight * (us - window_us_);
}

void SplitMemory::note_end(uint64_t call, double total_us) noexcept {
  Call& slot = calls_[call % kCalls];
  // Acquire pairs with the release in decide().
  const uint64_t decided = slot.decided.load(std::memory_order_acquire);
  if (decided / kMostSplits != call + 1) return;  // the call ended long ago
  const auto total_ns = static_cast<uint64_t>(total_us * 1e3);
  uint64_t longest = slot.longest_ns.load(std::memory_order_relaxed);
  while (total_ns > longest && !slot.longest_ns.compare_exchange_weak(
                                   longest, total_ns, std::memory_order_relaxed)) {
  }
  // acq_rel: the last one has seen the others' times.
  if (slot.ended.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_)
    learn(slot, static_cast<int>(decided % kMostSplits));
}

// A long time may come from a disturbance, but no time is too short: the shortest one counts.
void SplitMemory::learn(const Call& call, int split) noexcept {
  const std::lock_guard lock(mutex_);
  if (call.window_us < 0) return;
  Measured& measured = measured_[static_cast<size_t>(split)];
  if (++measured.count <= 0) return;
  // Relaxed: ordered by note_end().
  const double excess =
      static_cast<double>(call.longest_ns.load(std::memory_order_relaxed)) * 1e-3 -
      call.window_us;
  measured.excess_us =
      measured.count == 1 ? excess : std::min(measured.excess_us, excess);
}

}  // namespace mpc::nbc
