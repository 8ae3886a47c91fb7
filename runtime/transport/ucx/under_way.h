#pragma once
// UnderWay: the operations whose memory may have to be returned to its owner.
//
// Role:      finds an operation by its completion, for Net::forget(),
//            and says when the net has finished with it.
// Users:     runtime/transport/ucx.
// Threads:   any; begin_done() and end_done() by the thread that has the turn to poll.
// See also:  runtime/transport/net.h (forget).

#include "base/mutex.h"
#include "runtime/transport/ucx/operation.h"

namespace mpc::transport::ucx {

class UnderWay {
 public:
  void add(Operation& op) noexcept;
  // It has ended and UCX does not know it any more. Returns its completion, which runs until
  // end_done(), or null.
  Completion* begin_done(Operation& op) noexcept;
  void end_done() noexcept;

  struct Forgotten {
    int peer = -1;        // -1: no recall is needed
    uint64_t number = 0;  // of an offer
  };
  // The operation's completion will not be called unless it is running already. `is_over` becomes
  // true when the operation has ended; it lives until may_leave().
  Forgotten begin_forget(const Completion& completion, bool& is_over) noexcept;
  bool may_leave(const Completion& completion, const bool& is_over) noexcept;

 private:
  Mutex lock_;
  Operation* first_ MPC_GUARDED_BY(lock_) = nullptr;
  const Completion* running_ MPC_GUARDED_BY(lock_) = nullptr;
};

}  // namespace mpc::transport::ucx
