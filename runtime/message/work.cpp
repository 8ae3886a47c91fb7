#include "runtime/message/work.h"

#include <algorithm>

#include "base/check.h"
#include "base/settings.h"
#include "base/trace.h"
#include "base/traffic.h"
#include "runtime/datatype/footprint.h"
#include "runtime/job/job.h"
#include "runtime/message/background.h"
#include "runtime/message/copy_scope.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/match_note.h"
#include "runtime/message/message.h"
#include "runtime/message/packing.h"
#include "runtime/message/remote.h"
#include "runtime/message/scattered_copy.h"
#include "scheduler/emulation/emulation.h"

namespace mpc::msg {
namespace {

// The list that this execution is processing, if any (a thread_local belongs to the
// user-level thread). Work is run without switching, so one level is enough.
thread_local Work* t_running = nullptr;

constexpr trace::Site kCopy{
    "message", "copy", {"bytes", "source", "tag", "context", "flow"}, false, true};

// Longer copies take many times as long as a line needs to travel.
constexpr int64_t kLongCopyBytes = 64 << 10;
// Shorter copies are never handed to another core.
constexpr int64_t kShortCopyBytes = 8 << 10;

int32_t rank_of(const Operation& receive) noexcept {
  const job::Rank* owner = receive.mailbox->owner.load(std::memory_order_relaxed);
  return owner != nullptr ? owner->world_rank : trace::kOwn;
}

uint64_t number(int64_t value) noexcept { return static_cast<uint64_t>(value); }

[[gnu::cold]] void note_match(const Operation& receive, const Key& key, int64_t bytes,
                              const Entry* send) noexcept {
  note_match(rank_of(receive), key, bytes, send);
}

[[gnu::cold]] void trace_copy(const Operation& receive, const Entry& message) noexcept {
  const Entry* send = message.kind == Entry::kRendezvous ? &message : nullptr;
  const int32_t rank = rank_of(receive);
  trace::begin(
      kCopy,
      {number(message.bytes), number(traced_source(rank, message.key)),
       number(message.key.tag), message.key.context, reinterpret_cast<uintptr_t>(send)},
      rank);
}

void note_filled(const Operation& receive) noexcept {
  if (!traffic::is_watched()) [[likely]]
    return;
  const Status& status = receive.status;
  note_match(receive, {receive.key.context, status.source, status.tag}, status.bytes,
             nullptr);
}

sched::Execution* main_execution(const Mailbox& mailbox) noexcept {
  const job::Rank* owner = mailbox.owner.load(std::memory_order_relaxed);
  return owner != nullptr ? owner->execution : nullptr;
}

void wake(Waiter& waiter) noexcept {
  // acq_rel: the last one to count down has seen the others' completions.
  if (waiter.wakes_at_each ||
      waiter.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    waiter.execution->unpark();
  }
}

// The core on which the mailbox's rank was placed; -1: no machine is emulated, or unknown.
int core_of(const Mailbox* mailbox) noexcept {
  if (!sched::Emulation::is_on() || mailbox == nullptr) return -1;
  const job::Rank* rank = mailbox->owner.load(std::memory_order_relaxed);
  if (rank == nullptr) return -1;
  return rank->job->scheduler()->core_of_worker(rank->job->worker_of(rank->world_rank));
}

// A long copy for `op` begins: a waiter that spins continues to spin, one that sleeps wakes up
// meanwhile, so that the wake-up time is hidden behind the copy.
void announce(Operation& op) noexcept {
  op.is_copying.store(true, std::memory_order_relaxed);  // a hint for spinners
  uint32_t expected = kWaited;
  if (op.waiter_is_preset) {
    if (op.waiter->execution == &sched::Execution::self()) return;
    op.state.store(kCompleting, std::memory_order_release);
  } else if (!op.state.compare_exchange_strong(expected, kCompleting,
                                               std::memory_order_acq_rel)) {
    return;
  }
  op.is_claimed = true;
  if (op.waiter->wakes_at_each)
    return;  // it waits for more than this operation: woken at the end
  op.is_woken = true;
  wake(*op.waiter);
}

}  // namespace

namespace {
// Not inlined into run_all(), most of whose completions copy nothing.
[[gnu::noinline]] void take_block(Operation& receive, Block& block) noexcept;
[[gnu::noinline]] void take_send(Operation& receive, Operation& send) noexcept;
}  // namespace

void Work::append(Operation& receive, Entry* message) noexcept {
  receive.match = message;
  receive.next_work = nullptr;
  (last_ != nullptr ? last_->next_work : first_) = &receive;
  last_ = &receive;
}

void Work::add_completion(Operation& receive) noexcept {
  // A blocking call exists until it is complete; a rank with other receives under way could
  // (wrongly) end meanwhile: destroy_mailbox() waits for the count.
  note_filled(receive);
  Mailbox& mailbox = *receive.mailbox;
  receive.is_counted =
      !receive.waiter_is_preset && &sched::Execution::self() != main_execution(mailbox);
  if (receive.is_counted) mailbox.copies.fetch_add(1, std::memory_order_relaxed);
  append(receive, nullptr);
}

void Work::add_copy(Operation& receive, Entry& message) noexcept {
  if (traffic::is_watched()) [[unlikely]]
    note_match(receive, message.key, message.bytes,
               message.kind == Entry::kRendezvous ? &message : nullptr);
  receive.is_counted = true;
  receive.mailbox->copies.fetch_add(1, std::memory_order_relaxed);  // under the lock
  append(receive, &message);
}

void Work::add_begun(Operation& receive, Entry& message) noexcept {
  keeps_copies_ = true;
  append(receive, &message);
}

void Work::add_filled(Operation& receive) noexcept {
  note_filled(receive);
  receive.is_counted = true;
  append(receive, nullptr);
}

void Work::complete_filled(Operation& receive) noexcept {
  note_filled(receive);
  receive.is_counted = false;
  if (receive.on_complete != nullptr) {  // on the list: callbacks do not nest
    append(receive, nullptr);
  } else {
    complete_at_start(receive);
  }
}

void Work::add_sent(Operation& send) noexcept {
  send.status = Status{};
  append(send, nullptr);
}

void Work::run_all() noexcept {
  while (Operation* op = first_) {
    first_ = op->next_work;
    if (first_ == nullptr) last_ = nullptr;
    if (op->is_send) {
      complete(*op);
      continue;
    }
    if (op->match != nullptr && op->match->bytes >= kShortCopyBytes && !keeps_copies_ &&
        leave_to_progress(*op, *op->match, first_ != nullptr)) {
      continue;
    }
    keeps_copies_ = false;
    Mailbox* counted = op->is_counted ? op->mailbox : nullptr;
    if (Entry* const message = op->match; message != nullptr) {
      if (message->kind == Entry::kBlock) {
        take_block(*op, static_cast<Block&>(*message));
      } else if (message->kind == Entry::kRendezvous) {
        take_send(*op, static_cast<Operation&>(*message));
      } else if (!remote::take_parcel(*op, static_cast<Block&>(*message))) {
        continue;  // its data are on their way: remote.h completes it
      }
    }
    complete(*op);
    // Release pairs with destroy_mailbox(): the receiver's memory is no longer touched.
    if (counted != nullptr) counted->copies.fetch_sub(1, std::memory_order_release);
  }
}

void Work::run() noexcept {
  if (news_ != nullptr) {
    job::Rank* owner = news_->owner.load(std::memory_order_relaxed);
    news_ = nullptr;
    if (owner != nullptr) notify(*owner);
  }
  if (first_ == nullptr) return;
  if (t_running != nullptr) {  // inside a callback: the outer loop continues with it
    Work& outer = *t_running;
    (outer.last_ != nullptr ? outer.last_->next_work : outer.first_) = first_;
    outer.last_ = last_;
    first_ = last_ = nullptr;
    return;
  }
  t_running = this;
  run_all();
  t_running = nullptr;
}

bool Work::begin_collecting() noexcept {
  if (t_running != nullptr) return false;
  t_running = this;
  return true;
}

void Work::end_collecting() noexcept {
  run_all();
  t_running = nullptr;
}

namespace {

// True: it is complete, and no execution waited. False: claimed (kCompleting), and op.waiter must
// be woken. The waiter may take back its kWaited meanwhile (disarm() in arming.h), and its
// Waiter is destroyed then: only the thread that has moved kWaited to kCompleting may touch it.
bool finish_or_claim(Operation& op) noexcept {
  for (;;) {
    uint32_t expected = kActive;
    // Release pairs with is_complete().
    if (op.state.compare_exchange_strong(expected, kComplete,
                                         std::memory_order_acq_rel)) {
      return true;
    }
    CHECK(expected == kWaited, "an operation completed twice");
    // Acquire pairs with arm(): `waiter`.
    if (op.state.compare_exchange_strong(expected, kCompleting,
                                         std::memory_order_acq_rel)) {
      return false;
    }
  }
}

}  // namespace

void complete(Operation& op) noexcept {
  const CompletionFn fn = op.on_complete;
  void* const argument = op.argument;
  if (!op.is_claimed) {
    if (!op.waiter_is_preset) {
      if (finish_or_claim(op)) {
        if (fn != nullptr) fn(&request_of(op), argument);
        return;
      }
    } else if (op.waiter->execution == &sched::Execution::self()) {
      op.state.store(kComplete, std::memory_order_relaxed);  // no other thread sees it
      return;
    } else {
      op.state.store(kCompleting, std::memory_order_release);
    }
  }
  // The waiter may not leave before it has been woken: kCompleting holds it back, and after
  // kComplete (release, pairs with its acquire) neither it nor `op` is touched again.
  if (!op.is_woken) wake(*op.waiter);
  op.state.store(kComplete, std::memory_order_release);
  if (fn != nullptr) fn(&request_of(op), argument);
}

void unpack_into(Operation& receive, const void* packed, int64_t bytes) noexcept {
  const int64_t n = bytes < receive.bytes ? bytes : receive.bytes;
  if (n <= 0) return;
  const CopyScope scope(&receive, nullptr);
  if (receive.type->is_contiguous()) {
    return copy_packed(receive.buffer, packed, static_cast<size_t>(n));
  }
  dt::unpack(receive.buffer, *receive.type, receive.count, 0, packed,
             static_cast<size_t>(n));
}

namespace {

// The copy, together with the reduction that follows it. False: nothing was done.
bool copy_and_reduce(Operation& receive, const Operation& send) noexcept {
  if (receive.fused_reduction == nullptr || send.bytes < kShortCopyBytes ||
      send.bytes != receive.bytes || sched::Emulation::is_on() ||
      !receive.type->is_contiguous() || !send.type->is_contiguous())
    return false;
  return receive.fused_reduction->take(&request_of(receive), receive.argument,
                                       send.buffer);
}

// The mailbox of a rank that waits and could take part in the copy, or null. In the background the
// copy is offered to the receiver in any case: it may reach its wait meanwhile.
Mailbox* helper_for(const Operation& receive, const Operation& send) noexcept {
  if (!SharedCopy::pays(send.bytes) || sched::Emulation::is_on() ||
      !receive.type->is_contiguous() || !send.type->is_contiguous())
    return nullptr;
  const job::Rank* const self = job::current_rank();
  const bool is_background =
      self != nullptr && self->progress != nullptr && self->progress->is_running_here();
  if (is_background && !waits_help()) return nullptr;
  auto can_help = [](const Operation& op, const Mailbox* of) {
    return of != nullptr && main_execution(*of) != &sched::Execution::self() &&
           (is_awaited(op) || of->spinning.load(std::memory_order_relaxed));
  };
  if (can_help(receive, receive.mailbox)) return receive.mailbox;
  if (can_help(send, send.origin)) return send.origin;
  return is_background ? receive.mailbox : nullptr;
}

bool is_scattered(const Operation& receive, const Operation& send) noexcept {
  return dt::is_scattered(*send.type) || dt::is_scattered(*receive.type);
}

void copy_rendezvous(Operation& receive, Operation& send, Mailbox* helper) noexcept {
  const CopyScope scope(&receive, &send);
  if (copy_and_reduce(receive, send)) return;
  if (helper != nullptr) {
    const int64_t n = std::min(send.bytes, receive.bytes);
    const SharedCopyScope shared(receive, send);
    if (helper->shared_copy.offer(receive.buffer, send.buffer, static_cast<size_t>(n)))
      return;
  }
  if (is_scattered(receive, send)) {
    const SharedCopyScope shared(receive, send);
    if (copy_scattered(receive, send)) return;
  }
  transport::copy_layout(receive.buffer, *receive.type, receive.count, send.buffer,
                         *send.type, send.count);
}

// Copies the message into the receive's buffer.
void take_block(Operation& receive, Block& block) noexcept {
  fill_status(receive, block.key, block.bytes);
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]]
    trace_copy(receive, block);
  unpack_into(receive, block.data(), block.bytes);
  if (is_traced) [[unlikely]]
    trace::end(kCopy);
  EagerPool::give_back(&block);
}

// The same, and completes the sender's side.
void take_send(Operation& receive, Operation& send) noexcept {
  fill_status(receive, send.key, send.bytes);
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]]
    trace_copy(receive, send);
  Mailbox* const helper = helper_for(receive, send);
  // On an emulated machine a copy takes long, so no execution waits actively for its end. With
  // scattered data even a short copy is long, and a rank that is called takes part in it.
  const bool is_long = send.bytes >= kLongCopyBytes ||
                       (send.bytes >= kShortCopyBytes && is_scattered(receive, send));
  if (is_long && !sched::Emulation::is_on()) {
    announce(send);
    announce(receive);
  }
  {
    const sched::EmulatedCopy emulated(send.bytes, core_of(send.origin),
                                       core_of(receive.mailbox));
    copy_rendezvous(receive, send, helper);
  }
  if (is_traced) [[unlikely]]
    trace::end(kCopy);
  send.status = Status{};
  complete(send);
}

}  // namespace

}  // namespace mpc::msg
