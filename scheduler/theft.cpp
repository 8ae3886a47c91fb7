#include "scheduler/theft.h"

#include <algorithm>

#include "scheduler/carrier.h"

namespace mpc::sched {
namespace {

// A thread that becomes ready usually runs within a microsecond, because the one that woke it waits
// itself. If its worker has not switched after this time, it computes. A look costs the victim a
// cache miss: at this interval at most one per cent of its time.
constexpr uint64_t kLookNs = 4'000;
constexpr uint64_t kPatienceNs = 5'000;
// The thread's data have to follow it over the link between nodes.
constexpr uint64_t kFarPatienceNs = 50'000;
// A victim that was inside the runtime at so many tries without a switch in between runs a long
// task there: its monitor, or the next wait, will take care of it.
constexpr uint32_t kMostTries = 4;

}  // namespace

Theft::Theft(const std::vector<Neighbour>& neighbours)
    : victims_(std::make_unique<Victim[]>(neighbours.size())),
      victim_count_(neighbours.size()) {
  for (size_t i = 0; i < victim_count_; ++i) {
    victims_[i].worker = neighbours[i].worker;
    victims_[i].patience_ns = neighbours[i].is_far ? kFarPatienceNs : kPatienceNs;
  }
}

uint64_t Theft::longest_patience_ns() const noexcept {
  uint64_t longest = 0;
  for (size_t i = 0; i < victim_count_; ++i)
    longest = std::max(longest, victims_[i].patience_ns);
  return longest + kLookNs;
}

Theft::Verdict Theft::look(uint64_t now_ns) noexcept {
  if (now_ns < next_look_ns_.load(std::memory_order_relaxed))
    return verdict_.load(std::memory_order_relaxed);
  next_look_ns_.store(now_ns + kLookNs, std::memory_order_relaxed);
  Verdict verdict = Verdict::kNothing;
  for (size_t i = 0; i < victim_count_; ++i)
    verdict = std::max(verdict, judge(victims_[i], now_ns));
  verdict_.store(verdict, std::memory_order_relaxed);
  return verdict;
}

Theft::Verdict Theft::judge(Victim& victim, uint64_t now_ns) noexcept {
  const Worker& worker = *victim.worker;
  // An idle worker is about to run what it has.
  if (!worker.has_ready() || worker.is_idle.load(std::memory_order_relaxed)) {
    victim.since_ns.store(0, std::memory_order_relaxed);
    return Verdict::kNothing;
  }
  const uint64_t count = worker.switch_count.load(std::memory_order_relaxed);
  const uint64_t since = victim.since_ns.load(std::memory_order_relaxed);
  const bool has_switched =
      victim.switch_count.load(std::memory_order_relaxed) != count;
  if (has_switched) victim.tries.store(0, std::memory_order_relaxed);
  if (victim.tries.load(std::memory_order_relaxed) == kMostTries)
    return Verdict::kNothing;
  if (since == 0 || has_switched) {
    victim.switch_count.store(count, std::memory_order_relaxed);
    victim.since_ns.store(now_ns, std::memory_order_relaxed);
    return Verdict::kSoon;
  }
  return now_ns - since >= victim.patience_ns ? Verdict::kDue : Verdict::kSoon;
}

Ult* Theft::take() noexcept {
  const uint64_t now = now_ns();
  Ult* ult = nullptr;
  for (size_t i = 0; i < victim_count_ && ult == nullptr; ++i) {
    Victim& victim = victims_[i];
    if (judge(victim, now) != Verdict::kDue) continue;
    ult = Carrier::take_ready_of(*victim.worker);
    victim.tries.store(
        ult != nullptr ? 0 : victim.tries.load(std::memory_order_relaxed) + 1,
        std::memory_order_relaxed);
    // Whatever the result: the victim's next thread, or the next try, has to wait as long.
    victim.since_ns.store(0, std::memory_order_relaxed);
  }
  verdict_.store(Verdict::kNothing, std::memory_order_relaxed);
  next_look_ns_.store(0, std::memory_order_relaxed);
  return ult;
}

}  // namespace mpc::sched
