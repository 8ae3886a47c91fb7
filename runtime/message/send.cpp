#include "runtime/message/message.h"

#include "base/settings.h"
#include "base/trace.h"
#include "runtime/datatype/footprint.h"
#include "runtime/datatype/predefined.h"
#include "runtime/message/copy_scope.h"
#include "runtime/message/losses.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/mailbox_push.h"
#include "runtime/message/packing.h"
#include "runtime/message/remote.h"
#include "runtime/message/routes.h"
#include "runtime/message/scattered_copy.h"
#include "runtime/message/waiting.h"
#include "runtime/message/work.h"

namespace mpc::msg {
namespace {

// Default: usual for such runtimes; its knee on this transport has not been measured.
IntSetting s_eager_limit{
    "message.eager_limit",
    8192,
    "bytes",
    "largest message that is buffered when its receive is not posted yet",
    0,
    static_cast<int64_t>(EagerPool::kMaxBytes)};

constexpr trace::Site kSend{
    "message", "send", {"bytes", "dest", "tag", "context", "flow"}};

Key key_of(const SendArgs& args) noexcept {
  return {args.context, args.source_in_comm, args.tag};
}

// Copies a message directly from the sender's layout into a posted receive.
void copy_direct(Operation& receive, const SendArgs& args, int64_t bytes) noexcept {
  fill_status(receive, key_of(args), bytes);
  if (bytes == 0) return;
  if (args.type->is_contiguous()) {
    unpack_into(receive, args.buffer, bytes);
  } else {
    const CopyScope scope(&receive, nullptr);
    transport::copy_layout(receive.buffer, *receive.type, receive.count, args.buffer,
                           *args.type, args.count);
  }
}

Block* make_block(Mailbox& mine, const SendArgs& args) {
  return make_block(mine.eager, key_of(args), args.buffer, args.count, *args.type);
}

// Number of small messages that a rank sends to others that
// do not wait for them, before it gives way.
constexpr unsigned kMostAhead = 64;

void note_ahead(Mailbox& mine, unsigned messages) noexcept {
  mine.sent_ahead.store(mine.sent_ahead.load(std::memory_order_relaxed) + messages,
                        std::memory_order_relaxed);
}

// A rank that sends without pause, in a pipeline, keeps the ranks of its own core from working on
// what they have received, and fills memory with it. Switches: yes.
[[gnu::cold]] void give_way(Mailbox& mine) noexcept {
  mine.sent_ahead.store(0, std::memory_order_relaxed);
  sched::Execution& self = sched::Execution::self();
  if (self.is_ult()) self.yield();
}

// Finds the posted receive under the receiver's lock. True: delivered, or stored there.
[[gnu::noinline]] bool deliver_direct(Mailbox& mine, Mailbox& to, const SendArgs& args,
                                      size_t bytes, uint64_t& ticket) {
  if (!to.try_lock()) return false;
  Work work;
  to.drain(work);
  const bool may_match = to.is_empty();
  Operation* receive = may_match ? to.take_posted(key_of(args)) : nullptr;
  if (receive == nullptr && (!may_match || bytes > kInlineBytes)) {
    to.unlock();
    work.run();
    return false;  // the message goes by the ring: a block is filled without the lock
  }
  if (receive == nullptr) {
    if (!to.closed.load(std::memory_order_relaxed)) {
      Block* block = make_block(mine, args);
      block->ticket = ticket = to.direct_ticket();
      to.keep(*block, work);
      note_ahead(mine, 1);
    }
  } else if (bytes <= kInlineBytes) {
    copy_direct(*receive, args, static_cast<int64_t>(bytes));
    work.complete_or_add(*receive);
  } else {
    to.copies.fetch_add(1, std::memory_order_relaxed);  // under the lock
    to.unlock();
    copy_direct(*receive, args, static_cast<int64_t>(bytes));
    work.add_filled(*receive);
    work.run();
    return true;
  }
  to.unlock();
  work.run();
  return true;
}

[[gnu::noinline]] Mailbox::Sent push_packed(Mailbox& to, const SendArgs& args,
                                            size_t bytes, bool more_follow) {
  char packed[kInlineBytes];
  dt::pack(args.buffer, *args.type, args.count, 0, packed, bytes);
  return to.push_inline(key_of(args), packed, bytes, more_follow);
}

void note_pushed(Mailbox& mine, const Mailbox::Sent& sent) noexcept {
  mine.next_line.store(sent.next_line, std::memory_order_relaxed);  // a hint
  if (sent.was_full) [[unlikely]]
    note_ahead(mine, kMostAhead);
}

// This function and send_now() are in one piece with their callers: each call would save and restore more
// registers than it has work.
[[gnu::always_inline]] inline uint64_t push_small(Mailbox& mine, Mailbox& to,
                                                  const SendArgs& args, size_t bytes,
                                                  bool more_follow) {
  const Mailbox::Sent sent =
      args.type->is_contiguous()
          ? to.push_inline(key_of(args), args.buffer, bytes, more_follow)
          : push_packed(to, args, bytes, more_follow);
  note_pushed(mine, sent);
  return sent.ticket;
}

[[gnu::cold]] void trace_send(const Operation& op, const Mailbox& mine,
                              const SendArgs& args) {
  const job::Rank* owner = mine.owner.load(std::memory_order_relaxed);
  trace::instant(
      kSend,
      {static_cast<uint64_t>(op.bytes), static_cast<uint64_t>(args.dest_world),
       static_cast<uint64_t>(args.tag), args.context, reinterpret_cast<uintptr_t>(&op)},
      owner != nullptr ? owner->world_rank : trace::kOwn);
}

void describe(Operation& op, Mailbox& mine, Mailbox& to, const SendArgs& args,
              size_t bytes) noexcept {
  op.key = key_of(args);
  op.kind = Entry::kRendezvous;
  op.bytes = static_cast<int64_t>(bytes);
  op.buffer = const_cast<void*>(args.buffer);
  op.count = args.count;
  op.type = args.type;
  op.mailbox = &to;
  op.origin = &mine;
  op.is_send = true;
  op.queued = false;
  op.is_orphan = false;
  op.may_buffer = false;
  op.is_copying.store(false, std::memory_order_relaxed);
  op.is_claimed = op.is_woken = false;
  op.forget_background();
  if (trace::enabled()) [[unlikely]]
    trace_send(op, mine, args);
  if (!mine.has_sent_pointers.load(std::memory_order_relaxed)) {
    mine.has_sent_pointers.store(true, std::memory_order_relaxed);  // for our own end
  }
}

// Sends the message itself, if that is possible at once; `ticket` then says how to find it again,
// or is 0: it met its receive. False: send a pointer, see below. `more_follow`: see push_inline().
[[gnu::always_inline]] inline bool send_now(Mailbox& mine, Mailbox& to,
                                            const SendArgs& args, size_t bytes,
                                            bool more_follow, uint64_t& ticket) {
  ticket = 0;
  const bool delegated = to.is_delegated();
  if (delegated && deliver_direct(mine, to, args, bytes, ticket)) return true;
  if (bytes <= kInlineBytes) {
    ticket = push_small(mine, to, args, bytes, more_follow);
    return true;
  }
  // The receiver would have to fetch each line of scattered data: they leave packed.
  if (!delegated && !dt::is_scattered(*args.type)) return false;
  ticket = to.push_pointer(CellKind::kBlock, key_of(args), make_block(mine, args));
  return true;
}

// Sends a longer message, whose sender continues, in a block. False: send a pointer.
bool send_packed(Mailbox& mine, Mailbox& to, const SendArgs& args, size_t bytes,
                 uint64_t& ticket) {
  if (args.type->is_contiguous() || args.mode == Mode::kSynchronous ||
      !leaves_packed(mine, to, *args.type, bytes))
    return false;
  ticket = to.push_pointer(CellKind::kBlock, key_of(args), make_block(mine, args));
  return true;
}

// A small message, too long for the ring, to a rank that polls its ring: the receiver copies
// it, once, out of our buffer; or away from there, if no receive is posted. The sender waits
// for that, and helps if it takes longer than a microsecond, but never for a receive.
void send_lazily(Mailbox& mine, Mailbox& to, Operation& op, const SendArgs& args,
                 size_t bytes) {
  describe(op, mine, to, args, bytes);
  op.may_buffer = true;
  op.in_ring.store(true, std::memory_order_relaxed);
  to.push_pointer(CellKind::kRendezvous, op.key, &op);
}

// The receiver does not poll: match for it, and copy if its receive is posted.
bool rendezvous_direct(Mailbox& to, Operation& op) {
  if (!to.try_lock()) return false;
  Work work;
  to.drain(work);
  const bool may_match = to.is_empty();
  if (may_match) {
    op.in_ring.store(false, std::memory_order_relaxed);
    if (Operation* receive = to.take_posted(op.key)) {
      work.add_copy(*receive, op);
    } else if (!to.closed.load(std::memory_order_relaxed)) {
      to.keep(op, work);
    } else {
      op.is_orphan = true;  // stays incomplete: its receiver has ended
    }
  }
  to.unlock();
  work.run();
  return may_match;
}

void send_rendezvous(Mailbox& mine, Mailbox& to, Operation& op, const SendArgs& args,
                     size_t bytes) {
  describe(op, mine, to, args, bytes);
  op.in_ring.store(true, std::memory_order_relaxed);
  // An owner that polls its ring copies itself, into its own cache; for one that
  // computes or sleeps the sender copies.
  if (to.is_delegated() || !to.spinning.load(std::memory_order_relaxed)) {
    if (rendezvous_direct(to, op)) return;
  }
  to.push_pointer(CellKind::kRendezvous, op.key, &op);
}

// Cold, so that what follows a call lies apart from sends within the process.
[[gnu::cold, gnu::noinline]] Mailbox* find_elsewhere(const job::Rank& self,
                                                     int world_rank) {
  return resolve(self, world_rank);
}

bool is_eager(const SendArgs& args, size_t bytes) noexcept {
  return args.mode != Mode::kSynchronous &&
         bytes <= static_cast<size_t>(s_eager_limit.get());
}

size_t bytes_of(const SendArgs& args) noexcept {
  return static_cast<size_t>(args.type->size() * args.count);
}

// To a rank that does not look at its ring. False: the message goes by the ring nevertheless.
[[gnu::noinline]] bool deliver_small(Mailbox& mine, Mailbox& to, const void* data,
                                     size_t bytes, int dest_world, Origin origin,
                                     int tag) {
  const SendArgs args{data,
                      static_cast<Count>(bytes),
                      dt::predefined_at(dt::abi::kByte),
                      dest_world,
                      origin.context(),
                      tag,
                      origin.source(),
                      Mode::kStandard};
  uint64_t ticket = 0;
  return deliver_direct(mine, to, args, bytes, ticket);
}

}  // namespace

size_t remote::eager_limit() noexcept {
  return static_cast<size_t>(s_eager_limit.get());
}

void start_send(job::Rank& self, Request& request, const SendArgs& args) {
  Mailbox* found = find_mailbox(args.dest_world);
  if (found == nullptr) [[unlikely]] {
    found = find_elsewhere(self, args.dest_world);
    if (found == nullptr) return remote::start_send(self, request, args);
  }
  Mailbox& to = *found;
  Operation& op = operation_of(request);
  Mailbox& mine = mailbox_of(self);
  const size_t bytes = bytes_of(args);
  op.waiter_is_preset = false;
  op.is_send = true;
  op.status = Status{};
  op.state.store(kActive, std::memory_order_relaxed);
  const bool eager = is_eager(args, bytes);
  if (uint64_t ticket; eager ? send_now(mine, to, args, bytes, true, ticket)
                             : send_packed(mine, to, args, bytes, ticket)) {
    op.mailbox = &to;
    Mailbox::remember(op, ticket);
    op.in_ring.store(false, std::memory_order_relaxed);
    complete_at_start(op);
  } else if (eager) {
    send_lazily(mine, to, op, args, bytes);
  } else {
    send_rendezvous(mine, to, op, args, bytes);
    if (g_has_outside) [[unlikely]]
      look_after_local_send(mine.world_rank, args.context);
  }
}

Status send(job::Rank& self, const SendArgs& args, const sched::WaitReason& why) {
  Mailbox* found = find_mailbox(args.dest_world);
  if (found == nullptr) [[unlikely]] {
    found = find_elsewhere(self, args.dest_world);
    if (found == nullptr) return remote::send(self, args, why);
  }
  Mailbox& to = *found;
  Mailbox& mine = mailbox_of(self);
  const size_t bytes = bytes_of(args);
  const bool eager = is_eager(args, bytes);
  uint64_t ticket;
  if (eager && send_now(mine, to, args, bytes, false, ticket)) {
    if (Mailbox::is_of_ring(ticket)) mine.answer_time.note_sent();
    if (mine.sent_ahead.load(std::memory_order_relaxed) >= kMostAhead) [[unlikely]]
      give_way(mine);
    return Status{};
  }
  BlockingOperation blocking(BlockingOperation::kSend);
  if (eager) {
    send_lazily(mine, to, blocking.op(), args, bytes);
  } else {
    send_rendezvous(mine, to, blocking.op(), args, bytes);
  }
  blocking.wait(self, mine, why);
  return blocking.op().status;
}

bool send_small(job::Rank& self, const void* data, size_t bytes, int dest_world,
                Origin origin, int tag) {
  Mailbox* const found = find_mailbox(dest_world);
  if (found == nullptr) [[unlikely]]
    return false;
  if (bytes > kInlineBytes || bytes > static_cast<size_t>(s_eager_limit.get()))
      [[unlikely]]
    return false;
  Mailbox& to = *found;
  Mailbox& mine = mailbox_of(self);
  const Key key{origin.context(), origin.source(), tag};
  if (!to.is_delegated() ||
      !deliver_small(mine, to, data, bytes, dest_world, origin, tag)) [[likely]] {
    note_pushed(mine, to.push_inline(key, data, bytes, false));
    mine.answer_time.note_sent();
  }
  if (mine.sent_ahead.load(std::memory_order_relaxed) >= kMostAhead) [[unlikely]]
    give_way(mine);
  return true;
}

bool send_at_once(job::Rank& self, const SendArgs& args) {
  Mailbox* const to = find_mailbox(args.dest_world);
  const size_t bytes = bytes_of(args);
  if (to == nullptr || bytes > kInlineBytes || !is_eager(args, bytes)) return false;
  Mailbox& mine = mailbox_of(self);
  uint64_t ticket;
  if (!send_now(mine, *to, args, bytes, false, ticket)) return false;
  if (Mailbox::is_of_ring(ticket)) mine.answer_time.note_sent();
  return true;
}

}  // namespace mpc::msg
