#include "runtime/message/mailbox.h"
#include "runtime/message/message.h"

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
  mine.drain(work);  // a message that is here already wins
  const bool withdrawn = op.queued;
  if (withdrawn) mine.posted.remove(op);
  mine.unlock();
  work.run();
  if (withdrawn) complete_cancelled(op);
}

void cancel_send(Operation& op) {
  Mailbox& to = *op.mailbox;
  ShortWait wait;
  for (;;) {
    Work work;
    to.lock_now();
    to.drain(work);
    // acquire pairs with accept(): it stands in the queue, or is matched, or an orphan.
    const bool in_ring = op.in_ring.load(std::memory_order_acquire);
    const bool queued = !in_ring && op.queued;
    const bool orphan = !in_ring && op.is_orphan;
    if (queued) to.unexpected.remove(op);
    op.is_orphan = false;
    to.unlock();
    work.run();
    if (queued || orphan) return complete_cancelled(op);
    if (!in_ring) return;  // matched, or copied away: completes normally
    wait.once();           // behind a cell that is claimed and not yet published
  }
}

}  // namespace

void cancel(job::Rank& self, Request& request) {
  Operation& op = operation_of(request);
  if (op.state.load(std::memory_order_acquire) != kActive) return;  // eager, or over
  if (op.is_send) {
    cancel_send(op);
  } else {
    cancel_receive(mailbox_of(self), op);
  }
}

}  // namespace mpc::msg
