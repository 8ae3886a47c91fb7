#include "runtime/message/message.h"

#include "base/settings.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/waiting.h"
#include "runtime/transport/memory/copy.h"

namespace mpc::msg {
namespace {

IntSetting s_eager_limit{
    "message.eager_limit", 8192, "bytes",
    "largest message that is buffered when its receive is not posted yet",
    0, static_cast<int64_t>(EagerPool::kMaxBytes)};

Key key_of(const SendArgs& args) noexcept {
  return {args.context, args.source_in_comm, args.tag};
}

// The data of a message, straight from the sender's layout into a posted receive.
void copy_direct(Operation& receive, const SendArgs& args, int64_t bytes) noexcept {
  fill_status(receive, key_of(args), bytes);
  if (bytes == 0) return;
  if (args.type->is_contiguous()) {
    unpack_into(receive, args.buffer, bytes);
  } else {
    transport::copy_layout(receive.buffer, *receive.type, receive.count, args.buffer,
                           *args.type, args.count);
  }
}

// Packs at most kInlineBytes or a block's size.
void pack_small(const SendArgs& args, void* out, size_t bytes) noexcept {
  if (args.type->is_contiguous()) {
    if (bytes <= kInlineBytes) {
      small_copy(out, args.buffer, bytes);
    } else {
      transport::copy_bytes(out, args.buffer, bytes);
    }
  } else {
    dt::pack(args.buffer, *args.type, args.count, 0, out, bytes);
  }
}

Block* make_block(Mailbox& mine, const SendArgs& args, size_t bytes) {
  Block* block = mine.eager.take(bytes);
  block->key = key_of(args);
  block->kind = Entry::kBlock;
  block->bytes = static_cast<int64_t>(bytes);
  pack_small(args, block->data(), bytes);
  return block;
}

// Finds the posted receive under the receiver's lock. True: delivered.
bool deliver_direct(Mailbox& mine, Mailbox& to, const SendArgs& args, size_t bytes) {
  if (!to.try_lock()) return false;
  Work work;
  const bool may_match = to.drain(work);
  Operation* receive = may_match ? to.take_posted(key_of(args)) : nullptr;
  if (receive == nullptr && (!may_match || bytes > kInlineBytes)) {
    to.unlock(work);
    work.run();
    return false;  // the way of the ring: a block is filled without the lock
  }
  if (receive == nullptr) {
    if (!to.closed.load(std::memory_order_relaxed)) {
      to.unexpected.append(*make_block(mine, args, bytes));
    }
  } else if (bytes <= kInlineBytes) {
    copy_direct(*receive, args, static_cast<int64_t>(bytes));
    work.add_completion(*receive);
  } else {
    to.copies.fetch_add(1, std::memory_order_relaxed);  // under the lock
    to.unlock(work);
    copy_direct(*receive, args, static_cast<int64_t>(bytes));
    work.add_filled(*receive);
    work.run();
    return true;
  }
  to.unlock(work);
  work.run();
  return true;
}

void send_eager(Mailbox& mine, Mailbox& to, const SendArgs& args, size_t bytes) {
  if (to.is_delegated() && deliver_direct(mine, to, args, bytes)) return;
  if (bytes > kInlineBytes) {
    to.push_pointer(CellKind::kBlock, key_of(args), make_block(mine, args, bytes));
  } else if (args.type->is_contiguous()) {
    to.push_inline(key_of(args), args.buffer, bytes);
  } else {
    char packed[kInlineBytes];
    pack_small(args, packed, bytes);
    to.push_inline(key_of(args), packed, bytes);
  }
}

// The receiver does not look: match for it, and copy if its receive is posted.
bool rendezvous_direct(Mailbox& to, Operation& op) {
  if (!to.try_lock()) return false;
  Work work;
  const bool may_match = to.drain(work);
  if (may_match) {
    op.in_ring.store(false, std::memory_order_relaxed);
    if (Operation* receive = to.take_posted(op.key)) {
      work.add_copy(*receive, op);
    } else if (!to.closed.load(std::memory_order_relaxed)) {
      to.unexpected.append(op);
    } else {
      make_orphan(op);
    }
  }
  to.unlock(work);
  work.run();
  return may_match;
}

void send_rendezvous(Mailbox& mine, Mailbox& to, Operation& op, const SendArgs& args,
                     size_t bytes) {
  op.key = key_of(args);
  op.kind = Entry::kRendezvous;
  op.bytes = static_cast<int64_t>(bytes);
  op.buffer = const_cast<void*>(args.buffer);
  op.count = args.count;
  op.type = args.type;
  op.mailbox = &to;
  op.origin = &mine;
  op.queued = false;
  op.is_orphan = false;
  mine.rendezvous.fetch_add(1, std::memory_order_relaxed);
  op.in_ring.store(true, std::memory_order_relaxed);
  // An owner that is looking at its ring copies itself, into its own cache; for one that
  // computes or sleeps the sender does it.
  if (to.is_delegated() || !to.spinning.load(std::memory_order_relaxed)) {
    if (rendezvous_direct(to, op)) return;
  }
  to.push_pointer(CellKind::kRendezvous, op.key, &op);
}

bool is_eager(const SendArgs& args, size_t bytes) noexcept {
  return args.mode != Mode::kSynchronous &&
         bytes <= static_cast<size_t>(s_eager_limit.get());
}

size_t bytes_of(const SendArgs& args) noexcept {
  return static_cast<size_t>(args.type->size() * args.count);
}

}  // namespace

void start_send(job::Rank& self, Request& request, const SendArgs& args) {
  Operation& op = operation_of(request);
  Mailbox& mine = mailbox_of(self);
  Mailbox& to = mailbox_of(args.dest_world);
  const size_t bytes = bytes_of(args);
  op.is_send = true;
  op.waiter_is_preset = false;
  op.status = Status{};
  op.state.store(kActive, std::memory_order_relaxed);
  if (is_eager(args, bytes)) {
    op.in_ring.store(false, std::memory_order_relaxed);
    send_eager(mine, to, args, bytes);
    complete(op);
  } else {
    send_rendezvous(mine, to, op, args, bytes);
  }
}

Status send(job::Rank& self, const SendArgs& args, const sched::WaitReason& why) {
  Mailbox& mine = mailbox_of(self);
  Mailbox& to = mailbox_of(args.dest_world);
  const size_t bytes = bytes_of(args);
  if (is_eager(args, bytes)) {
    send_eager(mine, to, args, bytes);
    return Status{};
  }
  BlockingOperation blocking;
  blocking.op().is_send = true;
  send_rendezvous(mine, to, blocking.op(), args, bytes);
  blocking.wait(self, mine, why);
  return blocking.op().status;
}

}  // namespace mpc::msg
