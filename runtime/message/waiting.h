#pragma once
// Waiting: the one way in which an execution of a rank polls, spins and parks.
//
// Role:      what wait(), wait_until(), wait_all() and the blocking calls share.
// Users:     runtime/message.
// Threads:   several executions of one rank may wait at the same time.
// See also:  runtime/message/spinning.h and parking.h (the two halves), scheduler/execution.h (park),
//            docs/design/0003-mailbox.md.

#include "runtime/message/mailbox.h"
#include "runtime/message/main_execution.h"
#include "runtime/message/message.h"
#include "scheduler/execution.h"

namespace mpc::msg {

// A send or receive on the stack of a blocking call. A receive has its waiter from the start: most
// often it is completed by its own rank, or by a sender that finds it parked, and neither
// needs an exchange then. A send is armed when it parks: its completer is on another
// core, and the sender is mostly still spinning.
class BlockingOperation {
 public:
  enum What { kSend, kReceive };
  explicit BlockingOperation(What what) noexcept {
    Operation& o = op();
    waiter_.execution = &sched::Execution::self();
    o.waiter = &waiter_;
    o.waiter_is_preset = what == kReceive;
    o.state.store(what == kReceive ? kWaited : kActive, std::memory_order_relaxed);
  }
  Operation& op() noexcept { return operation_of(request_); }
  // Returns when it is complete and no other thread refers to it. Switches: yes.
  void wait(job::Rank& self, Mailbox& mine, const sched::WaitReason& why) noexcept;

 private:
  Request request_;
  Waiter waiter_;
};

// For a send whose pointer is still in the receiver's ring: does for the receiver what it has
// not done itself. Afterwards the send is matched, copied away, or in the unexpected queue.
void help_receiver(Operation& op) noexcept;

}  // namespace mpc::msg
