#pragma once
// Main execution: the one execution of a rank that polls its ring.
//
// Role:      the main one polls for long, as senders may then leave the matching to it; the others
//            are woken by the thread that matches.
// Users:     runtime/message.
// Threads:   any.
// See also:  runtime/message/mailbox.h (start_polling, delegate).

#include "runtime/message/mailbox.h"
#include "scheduler/execution.h"

namespace mpc::msg {

// Is `me` the rank's main execution, the only one that polls the ring for long?
inline bool is_main(const Mailbox& mine, const sched::Execution& me) noexcept {
  return mine.owner.load(std::memory_order_relaxed)->execution == &me;
}

}  // namespace mpc::msg
