#include "runtime/message/mailbox.h"
#include "runtime/message/message.h"
#include "runtime/message/remote.h"
#include "runtime/message/short_wait.h"
#include "runtime/message/work.h"

namespace mpc::msg {
namespace {

void complete_cancelled(Operation& op) noexcept {
  op.status = Status{};
  op.status.cancelled = true;
  complete(op);
}

void cancel_receive(Mailbox& mine, Operation& op) {
  Work work;
  mine.lock_now();
  mine.drain(work);  // a message that is here already takes precedence
  const bool withdrawn = op.queued;
  if (withdrawn) mine.posted.remove(op);
  mine.unlock();
  work.run();
  if (withdrawn) complete_cancelled(op);
}

// The send is complete and its data have left: takes the message back if no receive has matched it.
void take_back(Operation& op) {
  Mailbox& to = *op.mailbox;
  ShortWait wait;
  for (;;) {
    Work work;
    to.lock_now();
    to.drain(work);
    Block* block = to.take_back(op.order);
    const bool is_over = to.has_accepted(op.order);
    to.unlock();
    work.run();
    if (block != nullptr) {
      EagerPool::give_back(block);
      op.status.cancelled = true;
    }
    if (block != nullptr || is_over) return;
    wait.once();  // there is a cell that is claimed and not yet published
  }
}

void cancel_send(Operation& op) {
  Mailbox& to = *op.mailbox;
  ShortWait wait;
  for (;;) {
    Work work;
    to.lock_now();
    to.drain(work);
    // Acquire pairs with accept(): the send is in the queue, or is matched, or an orphan.
    const bool in_ring = op.in_ring.load(std::memory_order_acquire);
    const bool queued = !in_ring && op.queued;
    const bool orphan = !in_ring && op.is_orphan;
    const bool copied_away = !in_ring && op.kind == Entry::kBlock;
    if (queued) to.unexpected.remove(op);
    op.is_orphan = false;
    to.unlock();
    work.run();
    if (queued || orphan) return complete_cancelled(op);
    if (copied_away) {
      // The copier completes it as soon as it has released the lock.
      while (op.state.load(std::memory_order_acquire) != kComplete) wait.once();
      return take_back(op);
    }
    if (!in_ring) return;  // matched: completes normally
    wait.once();           // there is a cell that is claimed and not yet published
  }
}

}  // namespace

void cancel(job::Rank& self, Request& request) {
  Operation& op = operation_of(request);
  if (remote::is_remote(op)) return remote::cancel(self, op);
  const uint32_t state = op.state.load(std::memory_order_acquire);
  if (state == kComplete && op.is_send && op.kind == Entry::kBlock) {
    if (op.order != 0) take_back(op);  // 0: it has met its receive at once
    return;
  }
  if (state != kActive) return;  // it is complete
  if (op.is_send) {
    cancel_send(op);
  } else {
    cancel_receive(mailbox_of(self), op);
  }
}

}  // namespace mpc::msg
