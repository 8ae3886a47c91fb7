#pragma once
// AsNobody: the calling execution acts for no rank while this lives.
//
// Role:      around calls of a network: what it begins on this stack, a thread say, or allocates by name of
//            its caller, is not the rank's.
// Users:     scheduler/poll, runtime/transport.
// Threads:   any. It neither parks nor switches meanwhile.
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
  // Whoever asks whether all wait knows a rank's kernel thread by its identity; a user-level thread is
  // in a list.
  bool hides() const noexcept { return identity_ != nullptr && !self_.is_ult(); }

  Execution& self_;
  void* const identity_;
};

}  // namespace mpc::sched
