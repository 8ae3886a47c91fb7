#pragma once
// AsNobody: while this object lives, the calling execution acts for no rank.
//
// Role:      wraps calls into a network: what the network starts on this stack (a thread, say) or
//            allocates in the name of its caller does not belong to the rank.
// Users:     scheduler/poll, runtime/transport.
// Threads:   any. The caller must not park or switch meanwhile.
// See also:  scheduler/execution.h (identity), scheduler/quiescence.h.

#include "scheduler/execution.h"
#include "scheduler/outside_work.h"

namespace mpc::sched {

class AsNobody {
 public:
  AsNobody() noexcept : self_(Execution::self()), identity_(self_.identity()) {
    if (hides()) [[unlikely]]
      begin_outside_work();
    self_.set_identity(nullptr);
  }
  ~AsNobody() {
    self_.set_identity(identity_);
    if (hides()) [[unlikely]]
      end_outside_work();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  // Quiescence recognizes a rank's kernel thread by its identity, but finds user-level threads
  // in a list.
  bool hides() const noexcept { return identity_ != nullptr && !self_.is_ult(); }

  Execution& self_;
  void* const identity_;
};

}  // namespace mpc::sched
