#pragma once
// Hold: keeps a parked execution parked while another thread examines it.
//
// Role:      makes WaitReason safe to read from outside. An execution that is not parked is
//            not affected.
// Users:     reports and deadlock detection.
// Threads:   one Hold per execution at a time (the caller holds the list's lock).
// See also:  the state word in scheduler/execution.h.

#include "scheduler/execution.h"

namespace mpc::sched {

class Hold {
 public:
  explicit Hold(Execution& execution) noexcept;
  ~Hold();
  Hold(const Hold&) = delete;
  bool is_held() const noexcept { return held_; }

 private:
  Execution& execution_;
  bool held_;
};

}  // namespace mpc::sched
