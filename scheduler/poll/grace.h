#pragma once
// Grace: the time that passes before the sources are armed for arrivals that can wait.
//
// Role:      an alarm that a rank sets when it goes on with its work, and that is not set again as long as
//            it has not rung: so what ranks pay is a locked exchange, not a system call. It rings in
//            the listener.
// Users:     scheduler/poll/poller.
// Threads:   begin() any; the others one thread.
// See also:  docs/design/0020-polling.md, section "Grace": it delays what Kumar's thesis (SmartInterrupts,
//            chapter 4) calls an interrupt request.
//
// Each begin() is followed by an alarm. Both sides exchange `is_set_`: either begin() finds that the alarm has
// rung, and sets it; or the thread that answers it does its exchange later, and so sees
// whatever was done before begin().

#include <x86intrin.h>

#include <atomic>
#include <cstdint>

#include "base/result.h"

namespace mpc::sched {

class Grace {
 public:
  Grace() = default;
  ~Grace();
  Grace(const Grace&) = delete;

  // Errors: kSystem.
  Result<> open();
  // A timerfd: readable when the alarm rings.
  int descriptor() const noexcept { return timer_; }
  // There is any: net.grace_us is not 0.
  static bool is_given() noexcept;

  // The sources may have to be armed after the grace. Touches no errno. Switches: no.
  void begin() noexcept;
  // A rank has called, and begin() is not needed, as the alarm of an earlier one is still to ring.
  void note_call() noexcept { last_begin_.store(__rdtsc(), std::memory_order_relaxed); }
  // The alarm has rung: the first step.
  void silence() noexcept;
  // The second. is_deferred: the sources have still to be armed; read after silence(). True: now. Otherwise the
  // last begin() was a moment ago, so that the ranks seem to call often: then the alarm is set again.
  bool is_over(bool is_deferred) noexcept;

 private:
  void set(uint64_t ns) noexcept;

  int timer_ = -1;
  std::atomic<bool> is_set_{false};
  // By the processor's clock: now_ns() in begin() makes an exchange of 8 B a tenth slower. Hints.
  std::atomic<uint64_t> last_begin_{0}, set_at_{0};
  std::atomic<uint64_t> set_for_ns_{0};
  std::atomic<uint64_t> factor_{1};  // of net.grace_us
  bool looks_twice_ = false;         // the next alarm is the second look of is_over()
};

}  // namespace mpc::sched
