#include "nbc/direct/settle.h"

#include <cstring>
#include <utility>

#include "nbc/direct/fold.h"
#include "nbc/direct/pending_state.h"

namespace mpc::nbc::direct {
namespace {

using Gifts = std::span<const Given>;

void set_wrong(Pending& call, size_t other, uint64_t key) noexcept {
  call.wrong_member = static_cast<int>(other);
  call.wrong_key = key;
}

// All members are told of the first one that calls something else than member 0, and that one of member 0. Blocks
// of an exchange may have different lengths, which those find who receive them.
bool are_alike(Gifts given) noexcept {
  const uint64_t first = given[0].call->key;
  const bool reduces = traits_of(given[0].call->call.coll).is_reduction;
  size_t other = 1;
  for (; other < given.size(); ++other) {
    const uint64_t key = given[other].call->key;
    if (key != first && (reduces || !is_same_call(key, first))) break;
  }
  if (other == given.size()) [[likely]]
    return true;
  const uint64_t key = given[other].call->key;
  for (const Given& member : given) {
    if (member.call->key == key)
      set_wrong(*member.call, 0, first);
    else
      set_wrong(*member.call, other, key);
  }
  return false;
}

// ---- reductions --------------------------------------------------------------------------

void allreduce(Gifts given, unsigned char* room) noexcept {
  const OneWayCall& first = given[0].call->call;
  fold(
      first.op, static_cast<int>(given.size()),
      [&](int m) -> const void* { return given[static_cast<size_t>(m)].data; }, room,
      first.send.count, static_cast<size_t>(first.send.type->size()));
  const size_t bytes = bytes_of(given[0].call->key);
  for (const Given& member : given)
    copy_bytes(member.call->call.recv.data, room, bytes);
}

// In the room: the values of all before a member, and those with its own.
void scan(Gifts given, bool is_inclusive, unsigned char* room) noexcept {
  const size_t bytes = bytes_of(given[0].call->key);
  unsigned char* before = room;
  unsigned char* with = room + kScratchBytes;
  for (size_t m = 0; m < given.size(); ++m) {
    const OneWayCall& call = given[m].call->call;
    std::memcpy(with, given[m].data, bytes);
    if (m != 0) call.op(before, with, call.send.count);
    if (is_inclusive || m != 0)
      copy_bytes(call.recv.data, is_inclusive ? with : before, bytes);
    std::swap(before, with);
  }
}

// ---- exchanges ---------------------------------------------------------------------------

// Each member's blocks: one for all, or one for each.
void exchange(Gifts given, bool to_all) noexcept {
  for (size_t s = 0; s < given.size(); ++s) {
    const size_t bytes = bytes_of(given[s].call->key);
    for (size_t m = 0; m < given.size(); ++m) {
      Pending& to = *given[m].call;
      const Block block = block_at(to.call.recv, static_cast<int>(s));
      if (bytes > block.bytes())
        to.truncated_by = static_cast<int>(s);
      else
        unpack(given[s].data + (to_all ? 0 : m * bytes), bytes, block);
    }
  }
}

// All blocks have one length, and the receive buffers no gaps.
bool is_one_row(Gifts given) noexcept {
  const size_t bytes = bytes_of(given[0].call->key);
  for (const Given& member : given) {
    const Block& to = member.call->call.recv;
    if (bytes_of(member.call->key) != bytes || to.bytes() != bytes ||
        !to.type->is_contiguous())
      return false;
  }
  return true;
}

void allgather(Gifts given, unsigned char* room) noexcept {
  if (!is_one_row(given)) return exchange(given, true);
  const size_t bytes = bytes_of(given[0].call->key);
  unsigned char* at = room;
  for (const Given& member : given) {
    copy_bytes(at, member.data, bytes);
    at += bytes;
  }
  for (const Given& member : given)
    std::memcpy(member.call->call.recv.data, room, static_cast<size_t>(at - room));
}

}  // namespace

size_t room_for(const Pending& call, size_t members) noexcept {
  switch (call.call.coll) {
    case Coll::kAllreduce:
    case Coll::kScan:
    case Coll::kExscan:
      return 2 * kScratchBytes;
    case Coll::kAllgather:
      return bytes_of(call.key) * members;
    default:
      return 0;
  }
}

void settle(Gifts given, unsigned char* room) noexcept {
  if (!are_alike(given)) [[unlikely]]
    return;
  switch (const Coll coll = given[0].call->call.coll) {
    case Coll::kBarrier:
      return;
    case Coll::kAllreduce:
      return allreduce(given, room);
    case Coll::kScan:
    case Coll::kExscan:
      return scan(given, coll == Coll::kScan, room);
    case Coll::kAllgather:
      return allgather(given, room);
    default:
      return exchange(given, false);
  }
}

}  // namespace mpc::nbc::direct
