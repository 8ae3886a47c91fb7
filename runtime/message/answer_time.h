#pragma once
// AnswerTime: when it pays to look for the answer to a message that was just sent.
//
// Role:      a look at the next cell of the ring takes its line away from the sender who is about
//            to write it, and two journeys of the line follow instead of one. A rank that has
//            just sent a message and now receives mostly waits for the answer, which cannot be
//            there before the line of the question has travelled: until then it does not look.
// Users:     runtime/message: send() notes the time, quick_receive() waits and learns.
// Threads:   note_sent() any execution of the rank; the rest under the mailbox's lock.
// See also:  docs/design/0003-mailbox.md, section "Whose line it is".
//
// How long, and whether at all, is learned from receives that look at once (probes):
//
//   the message was there already   no answer, or a rank that is late: no waiting
//   it came within kMostTicks       an answer: the next ones wait for a part of that time
//   it came later, or not           a rank that computes: no waiting
//
// Each probe that says "an answer" doubles the number of receives until the next one, so a rank
// whose messages are there half of the time seldom waits in vain.

#include <x86intrin.h>

#include <atomic>
#include <cstdint>

#include <cstdlib>
#include <cstdio>
namespace mpc::msg {
inline uint64_t fixed_wait(){ static uint64_t v = getenv("LAT_FIX")?atoi(getenv("LAT_FIX")):0; return v;}

class AnswerTime {
 public:
  // A message has gone to a rank on another core.
  void note_sent() noexcept { sent_ticks_.store(__rdtsc(), std::memory_order_relaxed); }

  // Before the first look of a receive that may wait. Cost: up to kMostTicks * kPart.
  void wait_before_look() noexcept {
    const uint64_t sent = sent_ticks_.load(std::memory_order_relaxed);
    is_probe_ = false;
    if (sent == 0) return;  // nothing was asked since the last receive
    if (credit_ == 0) {
      is_probe_ = true;
      return;
    }
    --credit_;
    sent_ticks_.store(0, std::memory_order_relaxed);
    while (__rdtsc() - sent < wait_ticks_) {
    }
  }
  // After the last look: `looks` in vain, then the message, or none.
  void note_end(int looks_in_vain, bool has_come) noexcept {
    if (is_probe_) learn(looks_in_vain, has_come);
  }

 private:
  static constexpr uint64_t kMostTicks = 2048;  // about a microsecond
  static constexpr int kMostCredit = 31;

  void learn(int looks_in_vain, bool has_come) noexcept {
    const uint64_t ticks = __rdtsc() - sent_ticks_.load(std::memory_order_relaxed);
    sent_ticks_.store(0, std::memory_order_relaxed);
    const bool is_answer = has_come && looks_in_vain > 0 && ticks < kMostTicks;
    next_credit_ = !is_answer ? 1 : next_credit_ < kMostCredit ? 2 * next_credit_ + 1 : kMostCredit;
    credit_ = is_answer ? next_credit_ : 0;
    wait_ticks_ = ticks * 3 / 8; if(getenv("LAT_P")) fprintf(stderr,"%d %lu %d\n",has_come,ticks,looks_in_vain); if(getenv("LAT_FIX")) {wait_ticks_=fixed_wait();credit_=31;}
  }

  std::atomic<uint64_t> sent_ticks_{0};  // 0: nothing was sent since the last receive
  uint64_t wait_ticks_ = 0;
  int credit_ = 0;       // receives until the next probe
  int next_credit_ = 1;
  bool is_probe_ = false;
};

}  // namespace mpc::msg
