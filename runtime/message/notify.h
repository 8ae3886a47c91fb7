#pragma once
// Notify: tells a waiting rank to check, and runs its hooks.
//
// Role:      upper layers leave something to a rank and call notify() or call_parked(), both in
//            runtime/message/message.h; the rank's waits call the layers' hooks.
// Users:     runtime/message; nbc/engine tells waits that a collective is complete.
// Threads:   run_hooks() executions of the rank.
// See also:  runtime/message/parking.h (who is told), docs/messages.md.

#include "runtime/message/mailbox.h"

namespace mpc::msg {

// Calls the hooks of upper layers, unless another execution was quicker. True if they were called.
bool call_hooks(Mailbox& mine) noexcept;

// Calls the hooks of upper layers if notify() asked for it. True if anything happened.
// Cost: a load, while it has not.
inline bool run_hooks(Mailbox& mine) noexcept {
  return mine.attention.load(std::memory_order_relaxed) && call_hooks(mine);
}

// As notify(), without the hooks, for state that the conditions of waits check themselves. Cheaper
// if the caller is the rank's main execution, which checks again anyway before it parks.
void notify_waits(job::Rank& self);

}  // namespace mpc::msg
