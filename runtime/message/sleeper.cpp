#include "runtime/message/sleeper.h"

#include "scheduler/origin.h"

namespace mpc::msg {

void Sleeper::arm(sched::Execution& waiter) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(&waiter);
  // seq_cst: either wake() sees this, or the waiter sees the flag (it checks again, seq_cst).
  who_.store(waiter.is_ult() ? address : address | kKernelThread,
             std::memory_order_seq_cst);
}

void Sleeper::disarm() noexcept {
  const uintptr_t who = who_.load(std::memory_order_relaxed);
  if ((who & (kKernelThread | kWaking)) == 0) {
    // A user-level thread outlives the job's ranks; a late unpark is just one permit too many.
    who_.store(0, std::memory_order_relaxed);
    return;
  }
  // kWaking: another thread is between its exchange and its store in wake().
  for (uintptr_t armed = who;; armed = who_.load(std::memory_order_relaxed)) {
    if (armed != kWaking &&
        who_.compare_exchange_strong(armed, 0, std::memory_order_acq_rel)) {
      return;
    }
    sched::Execution::self().yield();
  }
}

void Sleeper::wake_armed() noexcept {
  uintptr_t who = who_.load(std::memory_order_seq_cst);  // partner: arm()
  for (;;) {
    if (who == 0) return;
    if (who == kWaking) {
      // A member that is late from the previous collective is about to unpark. Its unpark() may
      // have been too early for our flag, so it does not count for ours.
      sched::Execution::self().yield();
      who = who_.load(std::memory_order_seq_cst);
    } else if ((who & kKernelThread) == 0) {
      // Members of a place are together again after this, if thieves have separated them.
      sched::unpark_at_origin(*reinterpret_cast<sched::Execution*>(who));
      return;
    } else if (who_.compare_exchange_strong(who, kWaking, std::memory_order_seq_cst)) {
      break;
    }
  }
  reinterpret_cast<sched::Execution*>(who & ~kKernelThread)->unpark();
  // It stays armed: if we are the late one, the thread waits for another flag by now, and
  // the member that sets that flag must find it. Release pairs with disarm(): the thread may end.
  who_.store(who, std::memory_order_release);
}

}  // namespace mpc::msg
