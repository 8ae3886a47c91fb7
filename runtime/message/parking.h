#pragma once
// Parking: the passive part of a wait: the execution sleeps, others match for it and wake it.
//
// Role:      the second half of every wait: says that an execution is (about to be) parked, so that
//            senders match and notify() finds it, and parks until the policy ends the wait.
// Users:     runtime/message (waiting.cpp).
// Threads:   several executions of one rank may be parked at the same time.
// See also:  runtime/message/waiting.cpp (the policies), runtime/message/notify.h (the other side),
//            docs/design/0003-mailbox.md.

#include "runtime/message/background.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/main_execution.h"
#include "runtime/message/notify.h"
#include "scheduler/execution.h"

namespace mpc::msg {

// While this object lives the execution may be parked: senders match for it, notify() finds it.
class Parking {
 public:
  Parking(Mailbox& mine, Waiter& waiter) noexcept : mine_(mine), waiter_(waiter) {
    is_main_ = is_main(mine, *waiter.execution);
    if (is_main_) {
      // seq_cst: either another execution's start_polling() sees us, or delegate() below sees the
      // cleared flag. See call_parked(), too.
      mine.is_parking.store(true, std::memory_order_seq_cst);
    } else {
      // seq_cst: as above; acquire: see notify().
      mine.parked_others.fetch_add(1, std::memory_order_seq_cst);
      mine.others_lock.lock();
      waiter.next = mine.others.load(std::memory_order_relaxed);
      mine.others.store(&waiter, std::memory_order_relaxed);
      mine.others_lock.unlock();
    }
    mine.delegate();
  }
  ~Parking() {
    if (is_main_) {
      mine_.is_parking.store(false, std::memory_order_relaxed);
      return;
    }
    mine_.others_lock.lock();
    Waiter* at = mine_.others.load(std::memory_order_relaxed);
    if (at == &waiter_) {
      mine_.others.store(waiter_.next, std::memory_order_relaxed);
    } else {
      while (at->next != &waiter_) at = at->next;
      at->next = waiter_.next;
    }
    mine_.others_lock.unlock();
    mine_.parked_others.fetch_sub(1, std::memory_order_relaxed);
  }
  Parking(const Parking&) = delete;
  Parking& operator=(const Parking&) = delete;

 private:
  Mailbox& mine_;
  Waiter& waiter_;
  bool is_main_;
};

// From start to stop a thread that puts a message into the unexpected queue notifies the rank.
inline void start_watching(Mailbox& mine) noexcept {
  mine.watchers.fetch_add(1, std::memory_order_relaxed);
  // A thread that holds the lock after us sees the count; what earlier holders put into the queue
  // is seen by the condition, which is evaluated before parking.
  mine.lock_now();
  mine.unlock();
}
inline void stop_watching(Mailbox& mine) noexcept {
  mine.watchers.fetch_sub(1, std::memory_order_relaxed);
}

// When the rank is told to check, it does itself what was left to its progress thread meanwhile.
template <class Policy>
[[gnu::always_inline]] inline void park_until(job::Rank& self, Mailbox& mine,
                                              Waiter& waiter, Policy& policy,
                                              const sched::WaitReason& why) noexcept {
  Parking parking(mine, waiter);
  while (!policy.may_leave(mine, waiter)) {
    const bool ran_hooks = run_hooks(mine);
    if (help_progress(self) || ran_hooks) continue;
    waiter.execution->park(why);
    run_hooks(mine);  // even if the wait is over; see call_parked()
  }
}

}  // namespace mpc::msg
