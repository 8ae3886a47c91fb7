#pragma once
// UltList: all user-level threads of a scheduler, and how many of them have not ended.
//
// Role:      stores each Ult from spawn() until wait_all() has seen its end; reports walk along it.
// Users:     scheduler only.
// Threads:   any. Ult::end() counts down without the lock.
// See also:  scheduler/quiescence.h.

#include <vector>

#include "base/futex.h"
#include "base/mutex.h"
#include "base/thread_safety.h"
#include "scheduler/ult.h"

namespace mpc::sched {

class UltList {
 public:
  // Called before the donor starts, which may take long: a report must not miss a live Ult, nor
  // take the parked ones for all Ults while another one is being created.
  void add(Ult& ult);
  // For an Ult that could not be started.
  void remove(Ult& ult);

  // Waits until all have ended, and hands them to the caller. Caller: a kernel thread.
  std::vector<Ult*> wait_for_all();

  // Calls visit(Ult&) for each that has not ended. None is freed meanwhile.
  template <class Visit>
  void for_each(Visit visit) {
    const Locked lock(lock_);
    for (Ult* ult : ults_)
      if (!ult->ended.load(std::memory_order_acquire)) visit(*ult);
  }
  // Relaxed: a caller that needs certainty asks has_only().
  bool is_empty() const noexcept { return live_.load(std::memory_order_relaxed) == 0; }
  // Is there an Ult that has not ended, and does test(Ult&) hold for all such Ults?
  template <class Test>
  bool has_only(Test test) {
    const Locked lock(lock_);
    if (live_.load(std::memory_order_relaxed) == 0) return false;
    for (Ult* ult : ults_)
      if (!ult->ended.load(std::memory_order_acquire) && !test(*ult)) return false;
    return true;
  }

 private:
  Mutex lock_;
  std::vector<Ult*> ults_ MPC_GUARDED_BY(lock_);
  FutexWord live_{0};  // number that have not ended
};

}  // namespace mpc::sched
