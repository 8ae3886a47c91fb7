#pragma once
// Patience: how long the listener pauses after calls that found nothing.
//
// Role:      a descriptor may signal more than its source knows, and another thread's poll may be first each time: then
//            the listener must not take a core. But such calls also come now and then where nothing is wrong, as
//            when ranks talk all the time; while the listener pauses, nobody hears of what arrives.
// Users:     scheduler/poll/listener.
// Threads:   the listener.
// See also:  docs/design/0020-polling.md.

#include <algorithm>
#include <cstdint>

namespace mpc::sched {

class Patience {
 public:
  // After that many calls in a row that found nothing it pauses, longer with each further one.
  static constexpr int kCalls = 2;
  static constexpr uint64_t kShortestNapNs = 20'000;
  static constexpr int kMostDoublings = 9;  // 10 ms, as long as a tick of the monitor
  // Who is called so rarely uses little of a core: the calls are not in a row.
  static constexpr uint64_t kRareNs = 1'000'000;

  // A call has come after such a time of listening. How long to pause now; 0: not at all.
  uint64_t nap_ns(bool has_found, uint64_t listened_ns) noexcept {
    if (has_found || listened_ns >= kRareNs) futile_ = 0;
    if (has_found || ++futile_ <= kCalls) return 0;
    futile_ = std::min(futile_, kCalls + kMostDoublings);
    return kShortestNapNs << (futile_ - kCalls);
  }

 private:
  int futile_ = 0;
};

}  // namespace mpc::sched
