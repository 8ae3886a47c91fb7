// Put, get and the accumulates on targets in other processes: what becomes of them, sent in parts as packets.

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/datatype/type_bytes.h"
#include "runtime/rma/queue_limits.h"
#include "runtime/rma/remote_access.h"

namespace mpc::rma {
namespace {

// Long enough that heads and tickets cost little; short enough that a process that serves others
// soon finishes one, and that a part is smaller than the least room.
constexpr Count kPartBytes = 64 << 10;

bool has_gaps(const dt::Datatype& element) noexcept {
  return element.size() != element.extent();
}

// Copies elements first .. first + n - 1 of a buffer, one after another in their extents.
void gather(const dt::Datatype& element, const Buffer& from, Count first, Count n,
            std::byte* out) {
  const auto offset = static_cast<size_t>(first * element.size());
  const auto bytes = static_cast<size_t>(n * element.size());
  if (!has_gaps(element)) {
    dt::pack(from.base, *from.type, from.count, offset, out, bytes);
    return;
  }
  const auto packed = std::make_unique_for_overwrite<std::byte[]>(bytes);
  dt::pack(from.base, *from.type, from.count, offset, packed.get(), bytes);
  std::memset(out, 0, static_cast<size_t>(n * element.extent()));
  dt::unpack(out, element, n, 0, packed.get(), bytes);
}

// Bytes of one step of its offset.
uint64_t unit_of(const Outgoing& op) noexcept {
  return op.element != nullptr ? static_cast<uint64_t>(op.element->extent()) : 1;
}

// The data of a put or an accumulate.
void copy(Queue::Entry& entry) {
  Outgoing& op = entry.operation;
  if (op.origin.type == nullptr) return;
  entry.copied_bytes = op.end * unit_of(op);
  op.copy = std::make_unique_for_overwrite<std::byte[]>(entry.copied_bytes);
  if (op.element == nullptr)
    dt::pack(op.origin.base, *op.origin.type, op.origin.count, 0, op.copy.get(),
             entry.copied_bytes);
  else
    gather(*op.element, op.origin, 0, static_cast<Count>(op.end), op.copy.get());
}

}  // namespace

// The reverse, for data that have come.
void deposit(const Pending& pending, uint64_t offset,
             std::span<const std::byte> data) noexcept {
  const dt::Datatype* const element = pending.element;
  if (element == nullptr) {
    dt::unpack(pending.base, *pending.type, pending.count, offset, data.data(),
               data.size());
    return;
  }
  const auto n = static_cast<Count>(data.size()) / element->extent();
  const auto at = offset * static_cast<size_t>(element->size());
  const auto bytes = static_cast<size_t>(n * element->size());
  if (!has_gaps(*element)) {
    dt::unpack(pending.base, *pending.type, pending.count, at, data.data(), bytes);
    return;
  }
  const auto packed = std::make_unique_for_overwrite<std::byte[]>(bytes);
  dt::pack(data.data(), *element, n, 0, packed.get(), bytes);
  dt::unpack(pending.base, *pending.type, pending.count, at, packed.get(), bytes);
}

// ---- datatypes ---------------------------------------------------------------------------------

Outgoing RemoteAccess::outgoing(Verb verb, const Spot& spot,
                                const sched::WaitReason& why) {
  Packet head = packet(verb, spot.target);
  head.disp = spot.disp;
  head.count = spot.count;
  head.type = spot.type.abi_code();
  if (head.type != 0) return {.head = head};
  const int process = process_of(spot.target);
  KnownType* known = nullptr;
  {
    const Locked lock(types_lock_);
    known = use_type(spot.type, process);
  }
  if (known == nullptr) {
    const std::vector<std::byte> layout = dt::to_bytes(spot.type);
    port_.take_room(process, Port::charge_of(sizeof(Packet) + layout.size()), self_,
                    why);
    const Locked lock(types_lock_);
    known = &add_type(spot.type);
    known->by_process[Port::index_of(process)] = true;
    Packet told = packet(Verb::kType, spot.target);
    told.type = known->number;
    // Under the lock: a caller that finds the type known sends after this.
    port_.send(process, told, layout);
  }
  head.type = known->number;
  return {.head = head, .type = TypeUse(*known)};
}

KnownType* RemoteAccess::use_type(const dt::Datatype& type, int process) {
  const auto found = std::ranges::find(
      types_, &type, [](const KnownType& known) { return known.type.get(); });
  if (found == types_.end() || !found->by_process[Port::index_of(process)])
    return nullptr;
  found->users.fetch_add(1, std::memory_order_relaxed);  // under the lock
  types_.splice(types_.end(), types_, found);
  return &*found;
}

KnownType& RemoteAccess::add_type(const dt::Datatype& type) {
  const auto found = std::ranges::find(
      types_, &type, [](const KnownType& known) { return known.type.get(); });
  if (found != types_.end()) {
    found->users.fetch_add(1, std::memory_order_relaxed);
    return *found;
  }
  // Acquire: what its users have sent was sent before we tell others to forget it.
  const auto oldest = std::ranges::find_if(types_, [](const KnownType& known) {
    return known.users.load(std::memory_order_acquire) == 0;
  });
  if (types_.size() >= kKnownTypes && oldest != types_.end()) {
    drop_type(*oldest);
    types_.erase(oldest);
  }
  KnownType& known = types_.emplace_back(dt::TypeRef(&type), port_.new_type(),
                                         static_cast<size_t>(port_.processes()));
  known.users.store(1, std::memory_order_relaxed);
  return known;
}

void RemoteAccess::drop_type(const KnownType& known) {
  Packet told = packet(Verb::kDropType, 0);
  told.type = known.number;
  for (size_t index = 0; index < known.by_process.size(); ++index)
    if (known.by_process[index]) port_.send(port_.process_at(index), told);
}

// ---- parts -------------------------------------------------------------------------------------

RemoteAccess::Part RemoteAccess::next_part(const Outgoing& op) noexcept {
  const uint64_t left = op.end - op.head.offset;
  switch (op.head.verb) {
    case Verb::kPut:
    case Verb::kGet: {
      const uint64_t n = std::min(left, static_cast<uint64_t>(kPartBytes));
      return op.head.verb == Verb::kPut ? Part{n, n, 0} : Part{n, 0, n};
    }
    case Verb::kAccumulate:
    case Verb::kFetch: {
      const Count extent = op.element->extent();
      const auto at_once =
          static_cast<uint64_t>(std::max(kPartBytes / extent, Count{1}));
      const uint64_t n = std::min(left, at_once);
      const size_t bytes = n * static_cast<uint64_t>(extent);
      return {n, op.origin.type != nullptr ? bytes : 0,
              op.head.verb == Verb::kFetch ? bytes : 0};
    }
    case Verb::kCompareAndSwap:
      return {left, 2 * left, left};
    default:
      return {left, 0, 0};
  }
}

size_t RemoteAccess::charge_of(const Part& part) noexcept {
  return Port::charge_of(sizeof(Packet) + part.data_bytes) +
         Port::charge_of(part.reply_bytes);
}

void RemoteAccess::send_part(Outgoing& op, const Part& part) {
  Packet& head = op.head;
  const int process = process_of(head.target);
  if (head.ticket == 0 && op.has_answer()) head.ticket = await(std::move(op.answer));
  if (is_transfer(head.verb)) {
    note_long(head.target);
    head.bytes = op.end;
    port_.send(process, head);
    if (head.verb == Verb::kLongPut)
      port_.offer_put(process, head, op.origin.base, *op.origin.type, op.origin.count);
    head.offset = op.end;
    return;
  }
  head.bytes = std::max(part.data_bytes, part.reply_bytes);
  if (head.verb == Verb::kCompareAndSwap) head.bytes = part.step;
  Port::Parcel parcel(part.data_bytes);
  if (op.copy != nullptr) {
    std::memcpy(parcel.data(), op.copy.get() + head.offset * unit_of(op),
                part.data_bytes);
  } else if (head.verb == Verb::kPut) {
    dt::pack(op.origin.base, *op.origin.type, op.origin.count, head.offset,
             parcel.data(), part.data_bytes);
  } else if (part.data_bytes > 0) {
    gather(*op.element, op.origin, static_cast<Count>(head.offset),
           static_cast<Count>(part.step), parcel.data());
  }
  port_.send(process, head, parcel);
  head.offset += part.step;
}

void RemoteAccess::copy_if_little(Queue& queue, Queue::Entry& entry) {
  const Outgoing& op = entry.operation;
  const uint64_t bytes = op.end * unit_of(op);
  if (op.has_answer() || op.origin.type == nullptr || bytes > kLittleBytes ||
      queue.copied_bytes + bytes > kMostCopiedBytes)
    return;
  copy(entry);
  queue.copied_bytes += bytes;
}

bool RemoteAccess::copy_queued(Queue& queue) {
  uint64_t bytes = queue.copied_bytes;
  for (const Queue::Entry& entry : queue.entries) {
    if (entry.what != Queue::What::kOperation) continue;
    const Outgoing& op = entry.operation;
    if (op.has_answer()) return false;
    if (op.copy == nullptr) bytes += op.end * unit_of(op);
  }
  if (bytes > kMostCopiedBytes || queue.entries.size() > kMostEntries) return false;
  for (Queue::Entry& entry : queue.entries)
    if (entry.what == Queue::What::kOperation && entry.operation.copy == nullptr)
      copy(entry);
  queue.copied_bytes = bytes;
  return true;
}

// ---- operations --------------------------------------------------------------------------------

void RemoteAccess::issue(Outgoing& op, const sched::WaitReason& why, IsOver* later) {
  const int target = op.head.target;
  // Acquire pairs with pop(): what was queued has been sent; and with end_fence().
  while (state(target).is_shut.load(std::memory_order_acquire) ||
         is_fence_coming_.load(std::memory_order_acquire)) {
    bool must_wait = false;
    {
      const Locked lock(lock_);
      const std::unique_ptr<Queue>& queue = state(target).queue;
      must_wait = queue != nullptr && must_wait_for(queue->entries);
    }
    if (must_wait) {
      settle(target, why);
      continue;
    }
    if (enqueue(op, later)) return;
    break;
  }
  const bool has_answer = op.has_answer();
  if (later != nullptr && has_answer)
    *later = op.answer.is_over = std::make_shared<std::atomic<bool>>(false);
  while (!op.is_sent()) {
    const Part part = next_part(op);
    port_.take_room(process_of(target), charge_of(part), self_, why);
    send_part(op, part);
  }
  // After it was sent: a flush of another thread that comes before does not cover it.
  if (!has_answer) state(target).is_dirty.store(true, std::memory_order_relaxed);
}

void RemoteAccess::put(const Spot& spot, const Buffer& origin,
                       const sched::WaitReason& why, IsOver* later) {
  const Count bytes = std::min(spot.bytes(), origin.bytes());
  if (bytes == 0) return;
  const bool is_long = Port::is_long(static_cast<size_t>(bytes));
  Outgoing op = outgoing(is_long ? Verb::kLongPut : Verb::kPut, spot, why);
  op.end = static_cast<uint64_t>(bytes);
  op.origin = origin;
  if (is_long) op.answer = {.target = spot.target, .parts = 2};
  issue(op, why, later);
  if (is_long) msg::serve_at_once();
}

void RemoteAccess::get(const Spot& spot, const Buffer& origin,
                       const sched::WaitReason& why, IsOver* later) {
  const Count bytes = std::min(spot.bytes(), origin.bytes());
  if (bytes == 0) return;
  const bool is_long = Port::is_long(static_cast<size_t>(bytes));
  Outgoing op = outgoing(is_long ? Verb::kLongGet : Verb::kGet, spot, why);
  op.end = static_cast<uint64_t>(bytes);
  op.answer = {.target = spot.target,
               .base = origin.base,
               .type = dt::TypeRef(origin.type),
               .count = origin.count,
               .left = op.end};
  issue(op, why, later);
  if (is_long) msg::serve_at_once();
}

void RemoteAccess::accumulate(uint32_t op_code, const dt::Datatype& element,
                              const Spot& spot, const Buffer& origin,
                              const Buffer* result, const sched::WaitReason& why,
                              IsOver* later) {
  Count elements = spot.bytes() / element.size();
  if (origin.type != nullptr)
    elements = std::min(elements, origin.bytes() / element.size());
  if (result != nullptr)
    elements = std::min(elements, result->bytes() / element.size());
  if (elements == 0) return;
  Outgoing op =
      outgoing(result != nullptr ? Verb::kFetch : Verb::kAccumulate, spot, why);
  op.head.op = op_code;
  op.head.element = element.abi_code();
  op.end = static_cast<uint64_t>(elements);
  op.origin = origin;
  op.element = &element;
  if (result != nullptr)
    op.answer = {.target = spot.target,
                 .base = result->base,
                 .type = dt::TypeRef(result->type),
                 .count = result->count,
                 .element = &element,
                 .left = static_cast<uint64_t>(elements * element.extent())};
  issue(op, why, later);
}

void RemoteAccess::compare_and_swap(const Spot& spot, const void* origin,
                                    const void* expected, void* result,
                                    const sched::WaitReason& why) {
  const auto bytes = static_cast<size_t>(spot.type.extent());
  Outgoing op = outgoing(Verb::kCompareAndSwap, spot, why);
  op.head.count = 1;
  op.head.element = spot.type.abi_code();
  op.end = bytes;
  // The buffers are small, and need not stay.
  op.copy = std::make_unique_for_overwrite<std::byte[]>(2 * bytes);
  std::memcpy(op.copy.get(), origin, bytes);
  std::memcpy(op.copy.get() + bytes, expected, bytes);
  op.answer = {.target = spot.target,
               .base = result,
               .type = dt::TypeRef(&spot.type),
               .count = 1,
               .element = &spot.type,
               .left = bytes};
  issue(op, why, nullptr);
}

}  // namespace mpc::rma
