#pragma once
// Waiter: an execution that waits for operations of its rank.
//
// Role:      a completion counts it down, and wakes it.
// Users:     runtime/message.
// Threads:   on the stack of the execution that waits; `missing` by any thread that completes.
// See also:  runtime/message/waiting.h, runtime/message/mailbox.h.

#include <atomic>
#include <cstdint>

#include "scheduler/execution.h"

namespace mpc::msg {

// An execution that waits for one of several operations, or for all of them.
struct Waiter {
  sched::Execution* execution = nullptr;
  std::atomic<int64_t> missing{
      1};  // completions until it is woken; 0 or less: wake at each
  bool wakes_at_each = false;
  Waiter* next = nullptr;  // in Mailbox::others
};

}  // namespace mpc::msg
