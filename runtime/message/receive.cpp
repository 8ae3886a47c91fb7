#include "runtime/message/losses.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/message.h"
#include "runtime/message/quick_receive.h"
#include "runtime/message/quick_remote.h"
#include "runtime/message/remote.h"
#include "runtime/message/waiting.h"
#include "runtime/message/work.h"

namespace mpc::msg {
namespace {

void prepare(Mailbox& mine, Operation& op, void* buffer, Count count,
             const dt::Datatype* type) noexcept {
  op.kind = Entry::kReceive;
  op.is_send = false;
  op.bytes = type->size() * count;
  op.buffer = buffer;
  op.count = count;
  op.type = type;
  op.mailbox = &mine;
  op.queued = false;
  op.is_copying.store(false, std::memory_order_relaxed);
  op.is_claimed = op.is_woken = false;
  op.forget_background();
}

// A look at the ring takes the line of its next cell away from the sender that is about to write
// it. In a window of receives that are ahead of their messages only some look, see design/0041: the
// others would find nothing, because earlier receives have looked and wait. Caller: holds the lock.
bool looks_at_ring(const Mailbox& mine) noexcept {
  constexpr size_t kGroup = 8, kLooks = 2;
  return mine.posted.size() % kGroup < kLooks;
}

// Takes the oldest message that matches, from the unexpected queue or the ring, or posts the
// receive.
void post(Mailbox& mine, Operation& op, const RecvArgs& args) {
  prepare(mine, op, args.buffer, args.count, args.type);
  op.key = {args.context, args.source_in_comm, args.tag};
  Work work;
  Mailbox::Taken taken = Mailbox::Taken::kInWork;
  mine.lock_now();
  Entry* message = mine.unexpected.empty() ? nullptr : mine.unexpected.find(op.key);
  const bool is_backlog = message != nullptr;
  if (is_backlog) {
    mine.unexpected.remove(*message);
    work.add_copy(op, *message);
  } else {
    taken = looks_at_ring(mine) ? mine.take_next(op, work) : Mailbox::Taken::kNothing;
    if (taken == Mailbox::Taken::kNothing) mine.posted.append(op);
  }
  mine.unlock();
  if (taken == Mailbox::Taken::kFilled) work.complete_filled(op);
  if (!work.empty()) work.run();
  if (g_cares_for_posted.load(std::memory_order_relaxed)) [[unlikely]] {
    if (g_has_outside && !is_backlog && taken == Mailbox::Taken::kNothing)
      mine.outside.note_posted(mine, args.context, args.source_in_comm,
                               op.waiter_is_preset,
                               static_cast<size_t>(op.bytes) > remote::eager_limit());
    // After the lock: see docs/design/0040-losses.md.
    if (job::losses::any())
      look_after_receive(mine.world_rank, args.context, args.source_in_comm);
  }
  // Not for a receive of a schedule that continues in the middle of a wait: that one parks again
  // without delegating the mailbox once more.
  if (is_backlog && is_main(mine, sched::Execution::self()) &&
      !mine.is_parking.load(std::memory_order_relaxed))
    mine.note_backlog();
}

void describe(const Entry& message, Status* status) noexcept {
  if (status == nullptr) return;
  *status = Status{};
  status->source = message.key.source;
  status->tag = message.key.tag;
  status->bytes = message.bytes;
}

// The lock is held between find and what the caller does with it.
Entry* find_unexpected(Mailbox& mine, const Key& key, Work& work) {
  mine.lock_now();
  if (mine.has_mail()) mine.drain(work);
  return mine.unexpected.empty() ? nullptr : mine.unexpected.find(key);
}

}  // namespace

void start_recv(job::Rank& self, Request& request, const RecvArgs& args) {
  Operation& op = operation_of(request);
  op.waiter_is_preset = false;
  op.state.store(kActive, std::memory_order_relaxed);
  post(mailbox_of(self), op, args);
}

Status recv(job::Rank& self, const RecvArgs& args, const sched::WaitReason& why) {
  const auto room = static_cast<size_t>(args.type->size() * args.count);
  if (Status status; args.type->is_contiguous() &&
                     recv_small(self, args.buffer, room,
                                {args.context, args.source_in_comm}, args.tag, &status))
    return status;
  return recv_by_posting(self, args, why);
}

Status recv_by_posting(job::Rank& self, const RecvArgs& args,
                       const sched::WaitReason& why) {
  Mailbox& mine = mailbox_of(self);
  if (Status status; g_has_outside && quick_receive_from_process(mine, args, &status))
    return status;
  BlockingOperation blocking(BlockingOperation::kReceive);
  post(mine, blocking.op(), args);
  blocking.wait(self, mine, why);
  return blocking.op().status;
}

bool iprobe(job::Rank& self, int source, ContextId context, int tag, Status* status) {
  Mailbox& mine = mailbox_of(self);
  if (mine.unexpected.empty() && !mine.has_mail()) return false;
  const Key key{context, source, tag};
  if (Status found; quick_probe(mine, key, false, &found)) {
    if (status != nullptr) *status = found;
    return true;
  }
  Work work;
  Entry* message = find_unexpected(mine, key, work);
  if (message != nullptr) describe(*message, status);
  mine.unlock();
  work.run();
  return message != nullptr;
}

bool probe_quickly(job::Rank& self, int source, ContextId context, int tag,
                   Status* status) {
  return quick_probe(mailbox_of(self), {context, source, tag}, true, status);
}

MatchedMessage* improbe(job::Rank& self, int source, ContextId context, int tag,
                        Status* status) {
  Mailbox& mine = mailbox_of(self);
  Work work;
  Entry* message = find_unexpected(mine, {context, source, tag}, work);
  if (message != nullptr) {
    mine.unexpected.remove(*message);
    describe(*message, status);
  }
  mine.unlock();
  work.run();
  return reinterpret_cast<MatchedMessage*>(message);
}

void start_mrecv(job::Rank& self, Request& request, MatchedMessage* message,
                 void* buffer, Count count, const dt::Datatype* type) {
  Operation& op = operation_of(request);
  op.waiter_is_preset = false;
  op.state.store(kActive, std::memory_order_relaxed);
  prepare(mailbox_of(self), op, buffer, count, type);
  Work work;
  work.add_copy(op, *reinterpret_cast<Entry*>(message));
  work.run();
}

}  // namespace mpc::msg
