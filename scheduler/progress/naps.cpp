// How a progress thread waits for more work: actively, then in naps, finally until it is woken.
#include <algorithm>

#include "base/counter.h"
#include "base/trace.h"
#include "scheduler/poll/poller.h"
#include "scheduler/progress/progress_thread.h"

namespace mpc::sched {
namespace {

Counter nap_counter{"progress.naps",
                    "Times that a communication core slept for a moment only"};

constexpr trace::Site kPoll{"progress", "wait actively", {}, false, true};
constexpr trace::Site kNap{"progress", "nap", {}, false, true};

class IdleReason final : public WaitReason {
  std::string text() const override { return "progress thread without work"; }
};

}  // namespace

// True: there is an item, or the thread is to end. gives_way: polling ends when another thread of
// this core is ready; otherwise the two take turns.
bool ProgressThreadImpl::poll_until(uint64_t end_ns, bool gives_way) noexcept {
  ProgressCore& core = *place();
  const trace::Span span(kPoll);
  ActiveLook look(core.worker().poller());
  constexpr int kPausesPerClockRead = 16;
  bool found = false;
  core.set_polling(true);
  for (int turn = 1;; ++turn) {
    found = is_due();
    if (found) break;
    if (core.worker().has_ready()) {
      if (gives_way) break;
      look.stop();
      Execution::self().yield();
    }
    if (turn % kPausesPerClockRead == 0) {
      const uint64_t now = now_ns();
      if (now >= end_ns) break;
      look.turn(now, Poller::Looker::kIdle);
      if (now >= core.worker().next_deadline_ns()) {  // other threads nap here
        look.stop();
        Execution::self().yield();
      }
    }
    __builtin_ia32_pause();
  }
  core.set_polling(false);
  return found;
}

// True: there is an item, or the thread is to end.
bool ProgressThreadImpl::wait_actively() noexcept {
  const ProgressCore& core = *place();
  const uint64_t now = now_ns();
  return poll_until(now + core.polling_ns(now), true);
}

// Checks the queue from time to time, as long as an item is likely to come: no thread that submits
// an item pays for waking this core. Where items come regularly the core sleeps until shortly
// before one is due, and is awake then. True: there is an item, or the thread is to end.
bool ProgressThreadImpl::nap() noexcept {
  ProgressCore& core = *place();
  const uint64_t end = now_ns() + core.napping_ns();
  for (uint64_t now = now_ns(); now < end && !is_due(); now = now_ns()) {
    // Rounded to a common beat, so that several threads of a core need only one wake-up of it.
    const uint64_t length = core.nap_length_ns(now);
    uint64_t until = (now / length + 1) * length;
    if (const Rhythm::Window due = core.appointment(now); due.to != 0) {
      until = due.from - core.lateness_ns();
      if (now + ProgressCore::kShortestNapNs > until) {
        if (poll_until(due.to, false)) return true;
        continue;
      }
    }
    if (!begin_nap()) return true;
    nap_until(core, until);
    nap_counter.add();
  }
  return is_due();
}

void ProgressThreadImpl::set_napping(bool is_napping) noexcept {
  is_napping_ = is_napping;
  is_napping_hint_.store(is_napping, std::memory_order_relaxed);
  if (is_napping)
    place()->remove_busy();
  else
    place()->add_busy();
}

// False: there is an item, or the thread is to end.
bool ProgressThreadImpl::begin_nap() noexcept {
  const Locked lock(lock_);
  if (is_due()) return false;
  set_napping(true);
  return true;
}

void ProgressThreadImpl::nap_until(ProgressCore& core, uint64_t deadline_ns) noexcept {
  const trace::Span span(kNap);
  const IdleReason reason;
  Execution::self().worker()->note_spun();
  const bool was_woken = Execution::self().park_until(deadline_ns, reason);
  if (!was_woken) core.note_lateness(std::max(now_ns(), deadline_ns) - deadline_ns);
  bool is_disturbed = false;
  {
    const Locked lock(lock_);
    is_disturbed = !is_napping_;
    if (!is_disturbed) set_napping(false);
  }
  // The nap was ended just when its time was over: the permit is
  // on its way, and no later park() may consume it.
  if (is_disturbed && !was_woken) Execution::self().park(reason);
}

// Parks until the next submit(). False: the thread is to end.
bool ProgressThreadImpl::rest() noexcept {
  {
    const Locked lock(lock_);
    if (!queue_.is_empty()) return true;
    if (is_stopping_.load(std::memory_order_relaxed)) return false;
    is_active_ = false;
    place()->remove_busy();
  }
  // A submit() from here on gives a permit. If it comes before this thread is parked, the thread
  // continues on the old core under the new core's name: the hint is wrong for once.
  const IdleReason reason;
  Execution::self().worker()->note_spun();
  Execution::self().park(reason);
  return true;
}

}  // namespace mpc::sched
