#pragma once
// Spinning: the active part of a wait: check, poll and help
// while the scheduler thinks that it pays.
//
// Role:      the first half of every wait, as a template over the condition.
// Users:     runtime/message (waiting.cpp).
// Threads:   several executions of one rank may spin at the same time; its main one polls the
//            ring.
// See also:  runtime/message/waiting.cpp (the policies), scheduler/execution.h (SpinBudget).

#include "runtime/message/mailbox.h"
#include "runtime/message/main_execution.h"
#include "runtime/message/notify.h"
#include "scheduler/execution.h"
#include "scheduler/may_spin.h"

namespace mpc::msg {

// Checks many times without a pause: the line of the next cell is in our cache until a sender
// takes it. Some 100 ns, the time of one `pause` or two.
template <class Policy>
[[gnu::always_inline]] inline void look_closely(const Mailbox& mine,
                                                Policy& policy) noexcept {
  constexpr int kLooks = 50;
  for (int i = 0; i < kLooks && !mine.has_mail() && !policy.glance(); ++i) {
    // Touches a longer message's second line, too: both then travel at the same time.
    mine.touch_next();
  }
}

// While this object lives, senders of large messages leave the copy to us.
class Spinning {
 public:
  explicit Spinning(Mailbox& mine) noexcept
      : mine_(mine), may_poll_(may_poll(mine, sched::Execution::self())) {
    if (may_poll_) mine.spinning.store(true, std::memory_order_relaxed);  // a hint
  }
  ~Spinning() {
    if (may_poll_) mine_.spinning.store(false, std::memory_order_relaxed);
  }
  Spinning(const Spinning&) = delete;
  Spinning& operator=(const Spinning&) = delete;
  // It pays to poll the ring.
  void go_on() noexcept {
    if (may_poll_) mine_.start_polling();
  }

 private:
  Mailbox& mine_;
  const bool may_poll_;
};

// Does both in any case.
inline bool poll_and_run_hooks(Mailbox& mine) noexcept {
  const bool polled = mine.poll();
  return run_hooks(mine) || polled;
}

// What another core is about to do is mostly done before a budget has begun, which reads the clock. Not with
// other processes: their network is polled first.
inline bool looks_first() noexcept { return !g_has_outside && sched::may_spin(); }
template <class Policy>
[[gnu::always_inline]] inline void look_briefly(Policy& policy) noexcept {
  constexpr int kLooks = 20;
  for (int i = 0; i < kLooks && !policy.glance(); ++i) __builtin_ia32_pause();
}

// Polls while the scheduler thinks that it pays. True if done. The policy's done(), glance(), soon()
// and help() are explained in runtime/message/waiting.cpp; help() is called once, after a while.
template <class Policy>
[[gnu::always_inline]] inline bool spin_until(Mailbox& mine, Policy& policy) noexcept {
  constexpr int kTurnsBeforeHelp = 8;  // about a microsecond
  constexpr int kMostBudgets = 1000;   // some ms, if the copier has lost its core
  int budgets = 0;
  sched::SpinBudget spin;
  Spinning spinning(mine);
  for (int turn = 0;; ++turn) {
    const bool happened = poll_and_run_hooks(mine);
    if (policy.done()) return true;
    if (happened || mine.shared_copy.help()) continue;
    if (Policy::kLooksFirst && turn == 0 && looks_first()) {
      look_briefly(policy);
      continue;
    }
    if (!spin.once()) {
      if (!policy.soon() || ++budgets > kMostBudgets) return false;
      spin = sched::SpinBudget();
      if (!spin.once()) return false;  // another rank wants this core
    }
    spinning.go_on();
    look_closely(mine, policy);
    if (turn == kTurnsBeforeHelp) policy.help();
  }
}

}  // namespace mpc::msg
