#pragma once
// Main execution: which executions of a rank poll its ring, so that senders leave messages there.
//
// Role:      the rank's main one; and a thread that the rank has made, while no other execution waits
//            asleep. An execution that sleeps is woken by the thread that matches.
// Users:     runtime/message.
// Threads:   any.
// See also:  runtime/message/mailbox.h (start_polling, delegate).

#include "runtime/message/mailbox.h"
#include "scheduler/execution.h"

namespace mpc::msg {

inline bool is_main(const Mailbox& mine, const sched::Execution& me) noexcept {
  return mine.owner.load(std::memory_order_relaxed)->execution == &me;
}

// May `me` poll the ring for long? Not a user-level thread beside the main one, as a rank's progress thread:
// the main one is elsewhere at most for a moment.
inline bool may_poll(const Mailbox& mine, const sched::Execution& me) noexcept {
  return is_main(mine, me) || !me.is_ult();
}

}  // namespace mpc::msg
