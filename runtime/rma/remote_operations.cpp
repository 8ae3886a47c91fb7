// Put, get and the accumulates on targets in other processes: sends parts of them as packets.

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/datatype/type_bytes.h"
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

RemoteAccess::TypeUse::TypeUse(RemoteAccess& access, const dt::Datatype& type,
                               int target, const sched::WaitReason& why)
    : access_(access), number_(type.abi_code()) {
  if (number_ != 0) return;
  const int process = access.process_of(target);
  {
    const Locked lock(access.types_lock_);
    known_ = access.use_type(type, process);
  }
  if (known_ == nullptr) {
    const std::vector<std::byte> layout = dt::to_bytes(type);
    const size_t bytes = sizeof(Packet) + layout.size();
    access.port_.take_room(process, Port::charge_of(bytes), access.self_, why);
    const Locked lock(access.types_lock_);
    known_ = &access.add_type(type);
    known_->by_process[static_cast<size_t>(process)] = true;
    Packet told = access.packet(Verb::kType, target);
    told.type = known_->number;
    // Under the lock: a caller that finds the type known sends after this.
    access.port_.send(process, told, layout);
  }
  number_ = known_->number;
}

RemoteAccess::TypeUse::~TypeUse() {
  if (known_ == nullptr) return;
  const Locked lock(access_.types_lock_);
  --known_->users;
}

RemoteAccess::KnownType* RemoteAccess::use_type(const dt::Datatype& type, int process) {
  const auto found = std::ranges::find(
      types_, &type, [](const KnownType& known) { return known.type.get(); });
  if (found == types_.end() || !found->by_process[static_cast<size_t>(process)])
    return nullptr;
  ++found->users;
  types_.splice(types_.end(), types_, found);
  return &*found;
}

RemoteAccess::KnownType& RemoteAccess::add_type(const dt::Datatype& type) {
  const auto found = std::ranges::find(
      types_, &type, [](const KnownType& known) { return known.type.get(); });
  if (found != types_.end()) {
    ++found->users;
    return *found;
  }
  const auto oldest = std::ranges::find(types_, 0, &KnownType::users);
  if (types_.size() >= kKnownTypes && oldest != types_.end()) {
    drop_type(*oldest);
    types_.erase(oldest);
  }
  KnownType& known =
      types_.emplace_back(KnownType{dt::TypeRef(&type), port_.new_type()});
  known.by_process.resize(static_cast<size_t>(port_.processes()));
  known.users = 1;
  return known;
}

void RemoteAccess::drop_type(const KnownType& known) {
  Packet told = packet(Verb::kDropType, 0);
  told.type = known.number;
  for (size_t process = 0; process < known.by_process.size(); ++process)
    if (known.by_process[process]) port_.send(static_cast<int>(process), told);
}

// ---- operations --------------------------------------------------------------------------------

template <class Fill>
void RemoteAccess::send(const Packet& part, size_t bytes, size_t reply_bytes,
                        const sched::WaitReason& why, Fill&& fill) {
  const int process = process_of(part.target);
  port_.take_room(process,
                  Port::charge_of(sizeof part + bytes) + Port::charge_of(reply_bytes),
                  self_, why);
  Port::Parcel parcel(bytes);
  fill(parcel.data());
  port_.send(process, part, parcel);
}

void RemoteAccess::put_long(const Packet& put, const Buffer& origin,
                            const sched::WaitReason& why, IsOver* later) {
  Packet told = put;
  told.verb = Verb::kLongPut;
  const int process = process_of(put.target);
  port_.take_room(process, Port::charge_of(sizeof told), self_, why);
  IsOver is_over;
  if (later != nullptr) *later = is_over = std::make_shared<std::atomic<bool>>(false);
  told.ticket =
      await({.target = put.target, .is_over = std::move(is_over), .parts = 2});
  note_long(put.target);
  port_.send(process, told);
  port_.offer_put(process, told, origin.base, *origin.type, origin.count);
}

void RemoteAccess::put(const Spot& spot, const Buffer& origin,
                       const sched::WaitReason& why, IsOver* later) {
  const Count bytes = std::min(spot.bytes(), origin.bytes());
  if (bytes == 0) return;
  const TypeUse type(*this, spot.type, spot.target, why);
  Packet part = packet(Verb::kPut, spot.target);
  part.disp = spot.disp;
  part.count = spot.count;
  part.type = type.number();
  part.bytes = static_cast<uint64_t>(bytes);
  if (Port::is_long(part.bytes)) return put_long(part, origin, why, later);
  for (Count at = 0; at < bytes; at += kPartBytes) {
    const auto n = static_cast<size_t>(std::min(kPartBytes, bytes - at));
    part.offset = static_cast<uint64_t>(at);
    send(part, n, 0, why, [&](std::byte* out) {
      dt::pack(origin.base, *origin.type, origin.count, part.offset, out, n);
    });
  }
  // After it was sent: a flush of another thread that comes before does not cover it.
  state(spot.target).is_dirty.store(true, std::memory_order_relaxed);
}

void RemoteAccess::get(const Spot& spot, const Buffer& origin,
                       const sched::WaitReason& why, IsOver is_over) {
  const Count bytes = std::min(spot.bytes(), origin.bytes());
  if (bytes == 0) {
    if (is_over) is_over->store(true, std::memory_order_relaxed);
    return;
  }
  const TypeUse type(*this, spot.type, spot.target, why);
  Packet part = packet(Verb::kGet, spot.target);
  part.disp = spot.disp;
  part.count = spot.count;
  part.type = type.number();
  part.ticket = await({.target = spot.target,
                       .base = origin.base,
                       .type = dt::TypeRef(origin.type),
                       .count = origin.count,
                       .left = static_cast<uint64_t>(bytes),
                       .is_over = std::move(is_over)});
  if (Port::is_long(static_cast<size_t>(bytes))) {
    part.verb = Verb::kLongGet;
    note_long(spot.target);
    part.bytes = static_cast<uint64_t>(bytes);
    return send(part, 0, 0, why, [](std::byte*) {});
  }
  for (Count at = 0; at < bytes; at += kPartBytes) {
    part.offset = static_cast<uint64_t>(at);
    part.bytes = static_cast<uint64_t>(std::min(kPartBytes, bytes - at));
    send(part, 0, part.bytes, why, [](std::byte*) {});
  }
}

void RemoteAccess::accumulate(uint32_t op_code, const dt::Datatype& element,
                              const Spot& spot, const Buffer& origin,
                              const Buffer* result, const sched::WaitReason& why,
                              IsOver is_over) {
  Count elements = spot.bytes() / element.size();
  const bool has_origin = origin.type != nullptr;
  if (has_origin) elements = std::min(elements, origin.bytes() / element.size());
  if (result != nullptr)
    elements = std::min(elements, result->bytes() / element.size());
  if (elements == 0) {
    if (is_over) is_over->store(true, std::memory_order_relaxed);
    return;
  }
  const TypeUse type(*this, spot.type, spot.target, why);
  const bool is_fetch = result != nullptr;
  Packet part = packet(is_fetch ? Verb::kFetch : Verb::kAccumulate, spot.target);
  part.disp = spot.disp;
  part.count = spot.count;
  part.type = type.number();
  part.op = op_code;
  part.element = element.abi_code();
  if (is_fetch)
    part.ticket = await({.target = spot.target,
                         .base = result->base,
                         .type = dt::TypeRef(result->type),
                         .count = result->count,
                         .element = &element,
                         .left = static_cast<uint64_t>(elements * element.extent()),
                         .is_over = std::move(is_over)});
  const Count at_once = std::max(kPartBytes / element.extent(), Count{1});
  for (Count first = 0; first < elements; first += at_once) {
    const Count n = std::min(at_once, elements - first);
    const auto bytes = static_cast<size_t>(n * element.extent());
    part.offset = static_cast<uint64_t>(first);
    part.bytes = bytes;
    send(part, has_origin ? bytes : 0, is_fetch ? bytes : 0, why, [&](std::byte* out) {
      if (has_origin) gather(element, origin, first, n, out);
    });
  }
  if (!is_fetch) state(spot.target).is_dirty.store(true, std::memory_order_relaxed);
}

void RemoteAccess::compare_and_swap(const Spot& spot, const void* origin,
                                    const void* expected, void* result,
                                    const sched::WaitReason& why) {
  const auto bytes = static_cast<size_t>(spot.type.extent());
  Packet part = packet(Verb::kCompareAndSwap, spot.target);
  part.disp = spot.disp;
  part.count = 1;
  part.type = part.element = spot.type.abi_code();
  part.bytes = bytes;
  part.ticket = await({.target = spot.target,
                       .base = result,
                       .type = dt::TypeRef(&spot.type),
                       .count = 1,
                       .element = &spot.type,
                       .left = bytes});
  send(part, 2 * bytes, bytes, why, [&](std::byte* out) {
    std::memcpy(out, origin, bytes);
    std::memcpy(out + bytes, expected, bytes);
  });
}

}  // namespace mpc::rma
