// Sends to ranks of other processes: how a message is sent, and what remains of it at the sender.
#include <algorithm>

#include "runtime/message/endpoint.h"
#include "runtime/message/losses.h"
#include "runtime/message/parcel.h"
#include "runtime/message/remote.h"
#include "runtime/message/remote_trace.h"
#include "runtime/message/routes.h"
#include "runtime/message/waiting.h"

namespace mpc::msg::remote {
namespace {

using transport::Envelope;
using transport::PacketKind;
using transport::Source;

struct Plan {
  PacketKind kind;
  int from_world;
  int peer;
  size_t bytes;
  uint64_t id;
};

// The unreceived data at the other rank count: beyond what it grants, data stay here.
// A message that leaves, and that nobody can take back, needs no number; is_blocking: its send cannot
// be cancelled.
Plan plan_of(job::Rank& self, Endpoint& mine, const SendArgs& args, int peer,
             bool is_blocking) {
  Plan plan;
  plan.from_world = self.world_rank;
  plan.peer = peer;
  plan.bytes = static_cast<size_t>(args.type->size() * args.count);
  const size_t limit = std::min(eager_limit(), mine.eager_bytes(plan.peer));
  if (plan.bytes > limit || !mine.may_leave(args.dest_world, plan.bytes)) {
    plan.kind = PacketKind::kOffer;
  } else {
    plan.kind =
        args.mode == Mode::kSynchronous ? PacketKind::kEagerSync : PacketKind::kEager;
  }
  const bool is_traced = trace::enabled();
  plan.id =
      is_blocking && plan.kind == PacketKind::kEager && !is_traced ? 0 : mine.new_id();
  if (is_traced) [[unlikely]]
    trace_send(self, args, plan.bytes, mine.process(), plan.id);
  return plan;
}

Envelope envelope_of(const SendArgs& args, const Plan& plan) noexcept {
  Envelope envelope;
  envelope.dest_world = static_cast<uint32_t>(args.dest_world);
  envelope.context = args.context;
  envelope.source = args.source_in_comm;
  envelope.tag = args.tag;
  envelope.kind = plan.kind;
  envelope.id = plan.id;
  envelope.bytes = plan.bytes;
  envelope.from_world = static_cast<uint32_t>(plan.from_world);
  return envelope;
}

// Most messages: short, without gaps, and nothing remains of them at the sender. False: nothing has happened.
bool send_at_once(const job::Rank& self, Endpoint& mine, const SendArgs& args,
                  int peer) {
  const auto bytes = static_cast<size_t>(args.type->size() * args.count);
  if (args.mode == Mode::kSynchronous || !args.type->is_contiguous() ||
      bytes > mine.eager_bytes(peer) || bytes > eager_limit() || trace::enabled() ||
      !mine.may_leave(args.dest_world, bytes))
    return false;
  const Plan plan{PacketKind::kEager, self.world_rank, peer, bytes, 0};
  mine.post(peer, envelope_of(args, plan), {args.buffer, bytes, nullptr});
  return true;
}

void pack_args(const void* data, size_t offset, void* out, size_t n) noexcept {
  const auto& args = *static_cast<const SendArgs*>(data);
  dt::pack(args.buffer, *args.type, args.count, offset, out, n);
}

void pack_operation(const void* data, size_t offset, void* out, size_t n) noexcept {
  const auto& op = *static_cast<const Operation*>(data);
  dt::pack(op.buffer, *op.type, op.count, offset, out, n);
}

void offer_is_over(transport::Completion& completion,
                   transport::Outcome outcome) noexcept {
  // It is the first member: see static_assert.
  Operation& op = *reinterpret_cast<Remote&>(completion).operation;
  endpoint_towards(op.remote.peer, op.origin->world_rank).ended_offer(op, outcome);
}
static_assert(offsetof(Remote, completion) == 0);

// The data leave while this runs.
void post_data(Endpoint& mine, const SendArgs& args, const Plan& plan) {
  const Source source = args.type->is_contiguous()
                            ? Source{args.buffer, plan.bytes, nullptr}
                            : Source{&args, plan.bytes, &pack_args};
  mine.post(plan.peer, envelope_of(args, plan), source);
}

void describe(Operation& op, Mailbox& from, const SendArgs& args,
              const Plan& plan) noexcept {
  op.key = {args.context, args.source_in_comm, args.tag};
  op.kind = Entry::kParcel;
  op.order = 0;
  op.bytes = static_cast<int64_t>(plan.bytes);
  op.buffer = const_cast<void*>(args.buffer);
  op.count = args.count;
  op.type = args.type;
  op.mailbox = nullptr;
  op.origin = &from;
  op.is_send = true;
  op.queued = false;
  op.is_orphan = false;
  op.may_buffer = false;
  op.in_ring.store(false, std::memory_order_relaxed);
  op.is_copying.store(false, std::memory_order_relaxed);
  op.is_claimed = op.is_woken = false;
  op.forget_background();
  op.remote = {{&offer_is_over},
               &op,
               plan.id,
               plan.peer,
               args.dest_world,
               plan.kind == PacketKind::kOffer,
               false,
               false,
               false,
               false};
}

// After the endpoint's lock, which `op` has passed: see docs/design/0040-losses.md.
[[gnu::cold]] void look_at_losses(Endpoint& mine, const SendArgs& args,
                                  const Plan& plan) {
  if (plan.kind == PacketKind::kOffer)
    return look_after_send(plan.from_world, args.context);
  if (job::losses::is_lost(plan.peer)) mine.lose(plan.peer);
}

// Starts a send that another process will end. `op` may
// be complete and destroyed when this returns.
void launch(Endpoint& mine, Operation& op, const SendArgs& args, const Plan& plan) {
  mine.add_send(op);
  if (plan.kind != PacketKind::kOffer) {
    post_data(mine, args, plan);
  } else {
    const Source source = args.type->is_contiguous()
                              ? Source{args.buffer, plan.bytes, nullptr}
                              : Source{&op, plan.bytes, &pack_operation};
    mine.offer(plan.peer, envelope_of(args, plan), source, op);
  }
  if (job::losses::any()) [[unlikely]]
    look_at_losses(mine, args, plan);
}

bool goes_to_the_dead(const SendArgs& args) noexcept {
  return job::losses::any() && job::losses::is_lost(process_of(args.dest_world));
}

[[gnu::cold]] void fail_at_start(job::Rank& self, Request& request,
                                 const SendArgs& args) {
  Operation& op = operation_of(request);
  op.waiter_is_preset = false;
  op.status = Status{};
  op.status.failed = true;
  op.status.error = Errc::kLost;
  op.state.store(kActive, std::memory_order_relaxed);
  describe(op, mailbox_of(self), args,
           {PacketKind::kEager, self.world_rank, process_of(args.dest_world), 0, 0});
  complete_at_start(op);
}

[[gnu::cold]] Status failed_status() noexcept {
  Status status;
  status.failed = true;
  status.error = Errc::kLost;
  return status;
}

}  // namespace

void start_send(job::Rank& self, Request& request, const SendArgs& args) {
  if (goes_to_the_dead(args)) [[unlikely]]
    return fail_at_start(self, request, args);
  Operation& op = operation_of(request);
  const int peer = process_of(args.dest_world);
  Endpoint& mine = endpoint_towards(peer, self.world_rank);
  const Plan plan = plan_of(self, mine, args, peer, false);
  op.waiter_is_preset = false;
  op.status = Status{};
  op.state.store(kActive, std::memory_order_relaxed);
  describe(op, mailbox_of(self), args, plan);
  if (plan.kind != PacketKind::kEager) {
    launch(mine, op, args, plan);
    Mailbox& from = mailbox_of(self);
    return from.outside.note_started(from);
  }
  post_data(mine, args, plan);
  op.order = plan.id;  // for cancel()
  complete_at_start(op);
}

Status send(job::Rank& self, const SendArgs& args, const sched::WaitReason& why) {
  if (goes_to_the_dead(args)) [[unlikely]]
    return failed_status();
  const int peer = process_of(args.dest_world);
  Endpoint& mine = endpoint_towards(peer, self.world_rank);
  if (send_at_once(self, mine, args, peer)) return Status{};
  const Plan plan = plan_of(self, mine, args, peer, true);
  if (plan.kind == PacketKind::kEager) {
    post_data(mine, args, plan);
    return Status{};
  }
  BlockingOperation blocking(BlockingOperation::kSend);
  describe(blocking.op(), mailbox_of(self), args, plan);
  launch(mine, blocking.op(), args, plan);
  blocking.wait(self, mailbox_of(self), why);
  return blocking.op().status;
}

}  // namespace mpc::msg::remote
