#include "runtime/message/scattered_copy.h"

#include <algorithm>
#include <optional>

#include "base/counter.h"
#include "runtime/datatype/footprint.h"
#include "runtime/message/copy_way.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/pieces.h"
#include "runtime/message/slots.h"
#include "scheduler/emulation/emulation.h"

namespace mpc::msg {
namespace {

Counter packed_counter{
    "message.packed_copies",
    "Messages of scattered layouts that passed packed between cores"};

// Checks of some 50 ns. A rank that spins reacts at once, unless the system has taken its core
// away; one that does not spin may be between two calls.
constexpr int kPatienceForSpinner = 200;
constexpr int kPatienceForOther = 40;

// The rank at the other end, and how long to wait for it; null: it cannot help.
struct Helper {
  Mailbox* mailbox = nullptr;
  int patience = 0;
};

Helper helper_in(Mailbox& there, const Operation& operation) noexcept {
  const job::Rank* const rank = there.owner.load(std::memory_order_relaxed);
  if (rank == nullptr || rank->execution == nullptr ||
      rank->execution->core() == sched::Execution::self().core())
    return {};
  // A rank that sleeps and is not called sleeps on. If called it may take a while: we begin alone.
  if (there.is_parking.load(std::memory_order_relaxed) && !operation.is_woken)
    return {};
  const bool is_spinning = there.spinning.load(std::memory_order_relaxed);
  return {&there, is_spinning ? kPatienceForSpinner : kPatienceForOther};
}

// Does this execution act for the rank of that mailbox, on the rank's own core?
bool is_end_of(const Mailbox* mailbox) noexcept {
  const job::Rank* const self = job::current_rank();
  return self != nullptr && mailbox != nullptr &&
         mailbox->owner.load(std::memory_order_relaxed) == self &&
         (self->progress == nullptr || !self->progress->is_running_here());
}

Pieces::End end_of(const Operation& op) noexcept {
  return {op.buffer, op.type, op.count};
}

}  // namespace

bool copy_scattered(const Operation& receive, const Operation& send) noexcept {
  if (sched::Emulation::is_on() || send.origin == receive.mailbox) return false;
  const bool is_receiver = is_end_of(receive.mailbox);
  if (!is_receiver && !is_end_of(send.origin)) return false;
  const Operation& here = is_receiver ? receive : send;
  const Operation& there = is_receiver ? send : receive;
  Mailbox& mine = is_receiver ? *receive.mailbox : *send.origin;
  Mailbox* const other = is_receiver ? send.origin : receive.mailbox;
  const bool is_scattered = dt::is_scattered(*there.type);
  if (!is_scattered || other == nullptr) return false;
  const Helper helper = helper_in(*other, there);
  const int64_t bytes = std::min(send.bytes, receive.bytes);
  const CopyWay way = choose_way(
      {here.type->is_contiguous(), is_scattered, helper.mailbox != nullptr, bytes});
  if (way == CopyWay::kOneCopy) return false;
  std::optional<Slots> slots;
  if (way == CopyWay::kPacked) {
    slots.emplace();
    if (slots->data() == nullptr) return false;
  }
  Pieces pieces(end_of(here), end_of(there), is_receiver, static_cast<size_t>(bytes),
                slots ? slots->data() : nullptr);
  if (!pieces.run(helper.mailbox->shared_copy, mine.shared_copy, helper.patience))
    return false;
  packed_counter.add();
  return true;
}

bool leaves_packed(const Mailbox& mine, const Mailbox& to, const dt::Datatype& type,
                   size_t bytes) noexcept {
  if (!dt::is_scattered(type) || bytes > EagerPool::kMaxBytes ||
      to.spinning.load(std::memory_order_relaxed) || to.is_delegated() ||
      !mine.eager.may_take_long() || sched::Emulation::is_on())
    return false;
  const job::Rank* const rank = to.owner.load(std::memory_order_relaxed);
  return rank != nullptr && rank->execution != nullptr &&
         rank->execution->core() != sched::Execution::self().core();
}

}  // namespace mpc::msg
