#include "nbc/direct/settle.h"

#include <cstring>

#include "nbc/direct/blocks.h"
#include "nbc/direct/fold.h"
#include "nbc/direct/key.h"
#include "nbc/direct/pending.h"

namespace mpc::nbc::direct {
namespace {

using Calls = std::span<Pending* const>;

const OneWayCall& call_of(Calls calls, size_t member) noexcept {
  return calls[member]->call;
}

void set_wrong(Pending& call, size_t other, uint64_t key) noexcept {
  call.wrong_member = static_cast<int>(other);
  call.wrong_key = key;
}

// All members are told of the first one that calls something else than member 0, and that one of member 0. Blocks
// of an exchange may have different lengths, which those find who receive them.
bool are_alike(Calls calls) noexcept {
  const uint64_t first = calls[0]->key;
  const bool reduces = traits_of(calls[0]->call.coll).is_reduction;
  size_t other = 1;
  while (other < calls.size() && (calls[other]->key == first ||
                                  (!reduces && is_same_call(calls[other]->key, first))))
    ++other;
  if (other == calls.size()) [[likely]]
    return true;
  const uint64_t key = calls[other]->key;
  for (Pending* const call : calls) {
    if (call->key == key)
      set_wrong(*call, 0, first);
    else
      set_wrong(*call, other, key);
  }
  return false;
}

// ---- reductions --------------------------------------------------------------------------------

void allreduce(Calls calls, unsigned char* room) noexcept {
  const OneWayCall& first = call_of(calls, 0);
  const size_t bytes = first.send.bytes();
  fold(
      first.op, static_cast<int>(calls.size()),
      [&](int m) -> const void* {
        return call_of(calls, static_cast<size_t>(m)).send.data;
      },
      room, first.send.count, static_cast<size_t>(first.send.type->size()));
  for (const Pending* const call : calls) copy_bytes(call->call.recv.data, room, bytes);
}

// `room`: the values of all before a member, and those with its own.
void scan(Calls calls, bool is_inclusive, unsigned char* room) noexcept {
  const Count count = call_of(calls, 0).send.count;
  const size_t bytes = call_of(calls, 0).send.bytes();
  unsigned char* before = room;
  unsigned char* with = room + bytes;
  for (size_t m = 0; m < calls.size(); ++m) {
    const OneWayCall& call = call_of(calls, m);
    std::memcpy(with, call.send.data, bytes);
    if (m != 0) call.op(before, with, count);
    if (is_inclusive)
      copy_bytes(call.recv.data, with, bytes);
    else if (m != 0)
      copy_bytes(call.recv.data, before, bytes);
    std::swap(before, with);
  }
}

// ---- exchanges ---------------------------------------------------------------------------------

// Delivers block `data` of member `s` to member `m`.
void deliver(Pending& to, size_t s, const unsigned char* data, size_t bytes) noexcept {
  const Block block = block_at(to.call.recv, static_cast<int>(s));
  if (bytes > block.bytes())
    to.truncated_by = static_cast<int>(s);
  else
    unpack(data, bytes, block);
}

// All blocks first go into the room: in place they are overwritten by what arrives.
void exchange(Calls calls, bool to_all, unsigned char* room) noexcept {
  const size_t blocks = to_all ? 1 : calls.size();
  unsigned char* at = room;
  for (size_t s = 0; s < calls.size(); ++s) {
    const OneWayCall& call = call_of(calls, s);
    for (size_t b = 0; b < blocks; ++b, at += call.send.bytes())
      pack(block_at(call.send, static_cast<int>(b)), at);
  }
  const unsigned char* row = room;
  for (size_t s = 0; s < calls.size(); ++s) {
    const size_t bytes = call_of(calls, s).send.bytes();
    for (size_t m = 0; m < calls.size(); ++m)
      deliver(*calls[m], s, row + (to_all ? 0 : m * bytes), bytes);
    row += blocks * bytes;
  }
}

// If all receive one row of equal blocks without gaps, it is copied in one piece.
bool is_one_row(Calls calls) noexcept {
  const size_t bytes = call_of(calls, 0).send.bytes();
  for (const Pending* const call : calls) {
    const Block& to = call->call.recv;
    if (call->call.send.bytes() != bytes || to.bytes() != bytes ||
        !to.type->is_contiguous() ||
        to.count * to.type->extent() != static_cast<Count>(bytes))
      return false;
  }
  return true;
}

void allgather(Calls calls, unsigned char* room) noexcept {
  if (!is_one_row(calls)) return exchange(calls, true, room);
  unsigned char* at = room;
  for (const Pending* const call : calls) {
    pack(call->call.send, at);
    at += call->call.send.bytes();
  }
  for (const Pending* const call : calls)
    std::memcpy(call->call.recv.data, room, static_cast<size_t>(at - room));
}

size_t room_for(Calls calls) noexcept {
  size_t bytes = 0;
  for (const Pending* const call : calls) {
    if (call->call.send.type == nullptr) continue;
    const size_t block = call->call.send.bytes();
    bytes += call->call.coll == Coll::kAlltoall ? block * calls.size() : block;
  }
  return bytes;
}

}  // namespace

void settle(Calls calls, std::vector<unsigned char>& room) noexcept {
  if (!are_alike(calls)) [[unlikely]]
    return;
  const Coll coll = calls[0]->call.coll;
  if (coll == Coll::kBarrier) return;
  if (const size_t bytes = room_for(calls); room.size() < bytes) room.resize(bytes);
  switch (coll) {
    case Coll::kAllreduce:
      return allreduce(calls, room.data());
    case Coll::kScan:
    case Coll::kExscan:
      return scan(calls, coll == Coll::kScan, room.data());
    case Coll::kAllgather:
      return allgather(calls, room.data());
    default:
      return exchange(calls, false, room.data());
  }
}

}  // namespace mpc::nbc::direct
