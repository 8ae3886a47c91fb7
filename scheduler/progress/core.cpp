#include "scheduler/progress/core.h"

#include <algorithm>

#include "base/settings.h"
#include "scheduler/emulation/emulation.h"

namespace mpc::sched {
namespace {

IntSetting spin_us(
    "progress.spin_us", 200, "us",
    "How long a communication core waits actively for more work, if work has "
    "been coming that often",
    0, 1'000'000);
IntSetting nap_us(
    "progress.nap_us", 100, "us",
    "How long a communication core sleeps at a time between looks for more work, "
    "where work comes too rarely to wait actively for it; 0: until it is woken",
    0, 1'000'000);

constexpr uint64_t kShortSpinNs = 5'000;
constexpr uint64_t kMostLatenessNs = 200'000;

}  // namespace

void ProgressCore::note_offer() noexcept {
  const uint64_t now = now_ns();
  const uint64_t last = last_work_ns_.exchange(now, std::memory_order_relaxed);
  if (last == 0 || now < last + kShortSpinNs) return;
  rhythm_.note_burst(now);
  const uint64_t gap = std::min(now - last, kLongestGapNs);
  const uint64_t usual = usual_gap_ns_.load(std::memory_order_relaxed);
  usual_gap_ns_.store(gap > usual ? gap : usual - (usual - gap) / 16,
                      std::memory_order_relaxed);
  if (gap == kLongestGapNs) note_accepted();
}

uint64_t ProgressCore::polling_ns(uint64_t now) const noexcept {
  if (is_taken()) return 0;
  if (!is_dedicated_) return kShortSpinNs;
  // Work comes regularly: nothing is missed before it is due.
  if (appointment(now).from > now + kShortestNapNs + lateness_ns()) return kShortSpinNs;
  const uint64_t limit = static_cast<uint64_t>(spin_us.get()) * 1000;
  const uint64_t usual = usual_gap_ns_.load(std::memory_order_relaxed);
  if (usual > limit) return std::min(kShortSpinNs, limit);
  return std::min(2 * usual + kShortSpinNs, limit);
}

uint64_t ProgressCore::napping_ns() const noexcept {
  const uint64_t usual = usual_gap_ns_.load(std::memory_order_relaxed);
  if (!is_dedicated_ || usual >= kLongestGapNs || nap_us.get() == 0 || is_taken())
    return 0;
  return 4 * usual;
}

uint64_t ProgressCore::nap_length_ns(uint64_t now) const noexcept {
  return nap_length(now, last_work_ns_.load(std::memory_order_relaxed),
                    static_cast<uint64_t>(nap_us.get()) * 1000);
}

Rhythm::Window ProgressCore::appointment(uint64_t now) const noexcept {
  if (!rhythm_.is_steady() || Emulation::is_on()) return {};
  return rhythm_.next(now);
}

void ProgressCore::note_lateness(uint64_t ns) noexcept {
  lateness_ns_.note(std::min(ns, kMostLatenessNs));
}

}  // namespace mpc::sched
