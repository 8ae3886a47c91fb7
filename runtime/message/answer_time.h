#pragma once
// AnswerTime: when it pays to look for the answer to a message that was just sent.
//
// Role:      a look at the next cell of the ring takes its line away from the sender that is about
//            to write it, and two journeys of the line follow instead of one. A rank that has just
//            sent a message and now receives mostly waits for the answer, which cannot arrive
//            before the line of the question has travelled: until then this rank does not look.
// Users:     runtime/message: send() notes the time, recv_small() waits and learns.
// Threads:   note_sent() any execution of the rank; the rest under the mailbox's lock.
// See also:  docs/design/0003-mailbox.md, section "Whose line it is".
//
// Receives that look at once (probes) teach whether to wait:
//
//   the message was there already    no answer, or a late rank: no waiting
//   it came within kMostTicks        an answer: receives wait until the next probe
//   it came later, or never          a rank that computes: no waiting
//
// Each probe in a row that says "an answer" doubles the number of receives until the next one,
// so a rank whose messages are there half of the time seldom waits in vain. All receives teach
// how long to wait: a little less whenever the first look finds the message, much more
// when it does not, because that costs a journey of the line.
//
// Where journeys are short, as between the two threads of one core, a look in vain costs almost
// nothing, and it pays to look all the time. So the last receive of each series that waits measures
// when it had its answer, as each probe does; unless waiting was quicker, most receives look at
// once, until the next comparison.

#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace mpc::msg {

class AnswerTime {
 public:
  // Records that a message has gone to a rank that looks at its ring.
  void note_sent() noexcept {
    if (direct_left_.load(std::memory_order_relaxed) == 0)
      sent_ticks_.store(__rdtsc(), std::memory_order_relaxed);
  }

  // Before the first look of a receive that may wait. Cost: up to kMostWaitTicks.
  void wait_before_look() noexcept {
    look_ = Look::kUnasked;
    if (const int left = direct_left_.load(std::memory_order_relaxed); left > 0) {
      direct_left_.store(left - 1, std::memory_order_relaxed);
      return;
    }
    const uint64_t sent = sent_ticks_.load(std::memory_order_relaxed);
    if (sent == 0) return;  // nothing was sent since the last receive
    if (credit_ == 0) {
      look_ = Look::kProbe;
      return;
    }
    --credit_;
    look_ = credit_ == 0 ? Look::kMeasured : Look::kWaited;
    if (look_ == Look::kWaited) sent_ticks_.store(0, std::memory_order_relaxed);
    while (static_cast<int64_t>(__rdtsc() - sent) < wait_ticks_) {
    }
  }
  // Has wait_before_look() waited, so that the answer is probably there now?
  bool has_waited() const noexcept { return look_ == Look::kWaited; }
  // After the last look: the number of looks in vain before the message came, if it did.
  void note_end(int looks_in_vain, bool has_come) noexcept {
    if (look_ == Look::kWaited && looks_in_vain == 0) [[likely]] {
      wait_ticks_ -= kLessTicks;
    } else if (look_ != Look::kUnasked) {
      learn(looks_in_vain, has_come);
    }
  }

 private:
  enum class Look : uint8_t { kUnasked, kProbe, kWaited, kMeasured };
  static constexpr int64_t kMostTicks = 2048;  // about a microsecond
  static constexpr int64_t kMostWaitTicks = kMostTicks / 2;
  static constexpr int64_t kLessTicks = 1;
  static constexpr int64_t kMoreTicks = 40;  // a look too early in so many receives
  static constexpr int kMostCredit = 63;
  static constexpr int kDirectSeries = 120;  // receives between two comparisons
  static constexpr int kComparison = 4;      // receives that wait for one

  // A mean of the latest times. It does not use base/moving_average.h: here the first value counts
  // fully, as nothing can be assumed before, and later ones a quarter, as a series to compare has
  // few; and the mailbox's lock protects it, so it need not be atomic.
  struct Usual {
    int64_t ticks = 0;  // 0: none yet
    void add(int64_t value) noexcept {
      ticks = ticks == 0 ? value : (3 * ticks + value) / 4;
    }
  };

  [[gnu::noinline]] void learn(int looks_in_vain, bool has_come) noexcept;
  void learn_from_probe(int64_t ticks) noexcept;
  bool waiting_pays() const noexcept;

  // Written under the mailbox's lock, like the rest; note_sent() reads a hint.
  // Receives that look at once, and measure nothing.
  std::atomic<int> direct_left_{0};
  std::atomic<uint64_t> sent_ticks_{0};  // 0: nothing was sent since the last receive
  Usual direct_, waited_;                // from the message that was sent to its answer
  int64_t wait_ticks_ = 0;
  int credit_ = 0;  // receives until the next probe
  int next_credit_ = 1;
  Look look_ = Look::kUnasked;
};

}  // namespace mpc::msg
