#pragma once
// Arming: how a waiter and the completer of an operation agree on who wakes whom.
//
// Role:      the waiter's moves of OperationState; the completer's are in work.cpp.
// Users:     runtime/message (waiting.cpp).
// Threads:   executions of the rank whose operation it is, one per operation.
// See also:  runtime/message/request.h (the picture of the states).

#include "base/check.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/request.h"

namespace mpc::msg {

inline bool is_over(const Operation& op) noexcept {
  return op.state.load(std::memory_order_acquire) >=
         kCompleting;  // pairs with complete()
}

// Waits for kComplete after kCompleting: for a few instructions of the completer, or for a copy
// that it is making on another core, in which the caller takes
// part. Switches: while other ranks are ready.
void settle(Mailbox& mine, const Operation& op) noexcept;

// kActive to kWaited. False if it is complete.
inline bool arm(Mailbox& mine, Operation& op, Waiter& waiter) noexcept {
  op.waiter = &waiter;
  uint32_t expected = kActive;
  // Release pairs with the completer's exchange: `waiter`.
  if (op.state.compare_exchange_strong(expected, kWaited, std::memory_order_acq_rel)) {
    return true;
  }
  CHECK(expected != kIdle && expected != kWaited,
        "wait for a request that is not active");
  settle(mine, op);
  return false;
}

// The same for one of several requests. False if it is inactive or complete.
inline bool arm_any(Operation& op, Waiter& waiter) noexcept {
  if (op.state.load(std::memory_order_relaxed) != kActive) return false;
  op.waiter = &waiter;
  uint32_t expected = kActive;
  return op.state.compare_exchange_strong(expected, kWaited, std::memory_order_acq_rel);
}

// Moves kWaited back to kActive; otherwise the operation is complete afterwards.
inline void disarm(Mailbox& mine, Operation& op) noexcept {
  uint32_t expected = kWaited;
  if (!op.state.compare_exchange_strong(expected, kActive, std::memory_order_acq_rel)) {
    if (expected == kCompleting) settle(mine, op);
  }
}

}  // namespace mpc::msg
