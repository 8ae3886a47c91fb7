// Exchanges of nbc/direct: alltoall, allgather and their forms. The acting member of a place
// copies all blocks that its members receive, each once, from the sender's buffer to the
// receiver's. Small ones go through the places' rooms instead: no member has to wait until others
// have read its buffer, and another place's data come in few cache lines.
#include <array>
#include <span>

#include "nbc/direct/blocks.h"
#include "nbc/direct/steps.h"
#include "nbc/schedule/limits.h"

namespace mpc::nbc::direct {
namespace {

Block plain_or(bool is_plain, const void* base, Count step, size_t bytes, int i,
               const Call& call, Block (*block)(const Call&, int)) {
  if (!is_plain) return block(call, i);
  // The const_cast is safe: a send buffer is only read.
  char* start = const_cast<char*>(static_cast<const char*>(base)) + step * i;
  return {start, static_cast<Count>(bytes), dt::predefined(dt::abi::kByte)};
}

// From sender `s` to receiver `m`, whatever their types. False: the data are too long.
bool copy_block(const Call& sender, int s, const Call& receiver, int m) {
  const Block from = plain_or(sender.is_send_plain, sender.send, sender.send_step,
                              sender.send_block, m, sender, sender.block_to);
  const Block to = plain_or(receiver.is_recv_plain, receiver.recv, receiver.recv_step,
                            receiver.recv_block, s, receiver, receiver.block_from);
  if (from.bytes() > to.bytes()) return false;
  if (from.bytes() == 0) return true;
  if (from.data == to.data && &sender == &receiver) return true;  // MPI_IN_PLACE
  if (from.type->is_contiguous() && to.type->is_contiguous())
    copy_bytes(to.data, from.data, from.bytes());
  else
    dt::copy(to.data, *to.type, to.count, from.data, *from.type, from.count);
  return true;
}

// How many senders are handled together: their blocks for one receiver lie next to each other in
// its buffer, and one sender's blocks for consecutive receivers do so in the sender's. With blocks
// of one number that is a cache line of each.
constexpr int kTogether = 8;
// Blocks that only the receiver's call can find: as many for each look at it.
constexpr int kTogetherUneven = 32;

struct Sender {
  const Call* call;
  int member;
};

std::span<const Receiver> receivers_of(Actor& actor) {
  Place& place = actor.place();
  auto next = place.receivers.begin();
  for (const int m : place.members) {
    const Call& call = actor.call_of(m);
    *next++ = {static_cast<char*>(call.recv), call.recv_step,
               call.is_recv_plain ? call.recv_block : 0, m};
  }
  return place.receivers;
}

// Where block `s` of the receiver that comes some turns after this one is to be written.
void fetch_ahead(std::span<const Receiver> receivers, size_t i, int s) noexcept {
  constexpr size_t kTurns = 6;
  if (i + kTurns >= receivers.size()) return;
  const Receiver& later = receivers[i + kTurns];
  if (later.block != 0) __builtin_prefetch(later.recv + later.step * s, 1);
}

// Copies all blocks of these senders for this place's members.
void copy_from(Actor& actor, std::span<const Receiver> receivers,
               std::span<const Sender> senders) {
  for (size_t i = 0; i < receivers.size(); ++i) {
    const Receiver& receiver = receivers[i];
    const int m = receiver.member;
    fetch_ahead(receivers, i, senders.front().member);
    for (const auto [call, s] : senders) {
      const Call& sender = *call;
      if (sender.is_send_plain && sender.send_block <= receiver.block) [[likely]] {
        copy_bytes(receiver.recv + receiver.step * s,
                   static_cast<const char*>(sender.send) + sender.send_step * m,
                   sender.send_block);
      } else if (!copy_block(sender, s, actor.call_of(m), m)) {
        actor.team().member(m).truncated_by = s;
      }
    }
  }
}

// The bytes of one member in its place's room.
size_t row_bytes(const Team& team, const Call& call) noexcept {
  return call.coll == Coll::kAllgather
             ? call.send_block
             : call.send_block * static_cast<size_t>(team.size());
}

void pack_row(const Call& call, size_t bytes, unsigned char* row) {
  if (call.is_send_plain) {
    std::memcpy(row, call.send, bytes);
    return;
  }
  for (size_t done = 0; done < bytes; done += call.send_block) {
    const Block from = call.block_to(call, static_cast<int>(done / call.send_block));
    const Block to = bytes_at(row + done, call.send_block);
    dt::copy(to.data, *to.type, to.count, from.data, *from.type, from.count);
  }
}

// Blocks of consecutive members, `row` bytes apart.
struct Row {
  const unsigned char* data;
  size_t bytes, row;
  int first, count;
};

// Unpacks into the receiver's blocks of those members.
void unpack_row(Actor& actor, const Receiver& receiver, const Row& row) {
  const size_t bytes = row.bytes;
  if (bytes <= receiver.block) [[likely]] {
    char* const to = receiver.recv + receiver.step * row.first;
    if (row.row == bytes && receiver.step == static_cast<Count>(bytes)) {
      copy_bytes(to, row.data, bytes * static_cast<size_t>(row.count));
      return;
    }
    for (int i = 0; i < row.count; ++i)
      copy_bytes(to + receiver.step * i, row.data + row.row * static_cast<size_t>(i),
                 bytes);
    return;
  }
  const Call& call = actor.call_of(receiver.member);
  for (int i = 0; i < row.count; ++i) {
    const int s = row.first + i;
    const Block to = call.block_from(call, s);
    if (bytes > to.bytes())
      actor.team().member(receiver.member).truncated_by = s;
    else
      unpack(row.data + row.row * static_cast<size_t>(i), bytes, to);
  }
}

}  // namespace

bool is_packed(const Team& team, const Call& call) noexcept {
  if (call.coll != Coll::kAllgather && call.coll != Coll::kAlltoall) return false;
  return call.send_block != 0 && call.send_block <= kScratchBytes &&
         row_bytes(team, call) * static_cast<size_t>(team.largest_place()) <=
             static_cast<size_t>(limit(Limit::kDirectRows, true));
}

void pack_blocks(Actor& actor) {
  const auto& members = actor.place().members;
  const size_t row = row_bytes(actor.team(), actor.call());
  unsigned char* at = actor.room_for(row * members.size());
  actor.mine().source = at;
  for (const int m : members) {
    pack_row(actor.call_of(m), row, at);
    at += row;
  }
}

void unpack_blocks(Actor& actor) {
  Team& team = actor.team();
  const size_t bytes = row_bytes(team, actor.call()), block = actor.call().send_block;
  const bool is_to_all = actor.call().coll == Coll::kAllgather;
  const std::span<const Receiver> receivers = receivers_of(actor);
  for (int p = 0; p < team.place_count(); ++p) {
    const auto* from = static_cast<const unsigned char*>(actor.post_of(p).source);
    const std::vector<int>& members = team.place(p).members;
    for (size_t i = 0; i < members.size();) {
      const size_t most = is_to_all ? members.size() - i : kTogether;
      Row row{from, block, bytes, members[i], 1};
      while (static_cast<size_t>(row.count) < most && i + row.count < members.size() &&
             members[i + row.count] == row.first + row.count)
        ++row.count;
      for (size_t r = 0; r < receivers.size(); ++r) {
        fetch_ahead(receivers, r, row.first);
        if (!is_to_all)
          row.data = from + block * static_cast<size_t>(receivers[r].member);
        unpack_row(actor, receivers[r], row);
      }
      i += row.count;
      from += bytes * static_cast<size_t>(row.count);
    }
  }
}

// ---- blocks of different sizes -------------------------------------------------------------
//
// The content of a place's room, if all that its members send fits: for each member the lengths of
// its blocks, then the blocks. Only the place itself knows whether it fits, so its post says so.

namespace {

// Bytes in the room; more than kScratchBytes: they do not fit.
size_t uneven_bytes(Actor& actor, int blocks) {
  const auto& members = actor.place().members;
  size_t bytes = members.size() * static_cast<size_t>(blocks) * sizeof(BlockLength);
  for (const int m : members) {
    const Call& call = actor.call_of(m);
    for (int b = 0; b < blocks && bytes <= kScratchBytes; ++b)
      bytes += call.block_to(call, b).bytes();
  }
  return bytes;
}

void deliver(Actor& actor, int m, int s, const unsigned char* data, size_t bytes) {
  const Call& call = actor.call_of(m);
  const Block to = call.block_from(call, s);
  if (bytes > to.bytes()) {
    actor.team().member(m).truncated_by = s;
  } else {
    unpack(data, bytes, to);
  }
}

BlockLength length_at(const unsigned char* row, int block) noexcept {
  BlockLength length;
  std::memcpy(&length, row + static_cast<size_t>(block) * sizeof length, sizeof length);
  return length;
}

// Delivers the block that each of those members has shown at `rows`. One receiver after the other, since
// each has tables of its own that say where its blocks are.
void deliver_to_all(Actor& actor, std::span<const int> senders,
                    const unsigned char* rows) {
  for (const int m : actor.place().members) {
    const unsigned char* row = rows;
    for (const int s : senders) {
      const BlockLength length = length_at(row, 0);
      deliver(actor, m, s, row + sizeof length, length);
      row += sizeof length + length;
    }
  }
}

// Delivers the blocks for this place's members that those members have shown at `row`.
void deliver_each(Actor& actor, std::span<const int> senders,
                  const unsigned char* row) {
  const Team& team = actor.team();
  const int blocks = team.size();
  for (const int s : senders) {
    const unsigned char* data = row + static_cast<size_t>(blocks) * sizeof(BlockLength);
    for (int b = 0; b < blocks; ++b) {
      const BlockLength length = length_at(row, b);
      if (team.place_of(b) == actor.place_number()) deliver(actor, b, s, data, length);
      data += length;
    }
    row = data;
  }
}

}  // namespace

void pack_uneven(Actor& actor) {
  const int blocks = sent_blocks(actor.team(), actor.call());
  const size_t bytes = uneven_bytes(actor, blocks);
  actor.mine().source = nullptr;
  if (bytes > kScratchBytes) return;
  unsigned char* lengths = actor.room_for(bytes);
  actor.mine().source = lengths;
  for (const int m : actor.place().members) {
    const Call& call = actor.call_of(m);
    unsigned char* data = lengths + static_cast<size_t>(blocks) * sizeof(BlockLength);
    for (int b = 0; b < blocks; ++b) {
      const Block block = call.block_to(call, b);
      const auto length = static_cast<BlockLength>(block.bytes());
      std::memcpy(lengths + static_cast<size_t>(b) * sizeof length, &length,
                  sizeof length);
      if (length != 0) pack(block, data);
      data += length;
    }
    lengths = data;
  }
}

void move_uneven(Actor& actor) {
  const Team& team = actor.team();
  for (int p = 0; p < team.place_count(); ++p) {
    if (actor.post_of(p).source == nullptr) return copy_blocks(actor);
  }
  const auto move =
      actor.call().coll == Coll::kAllgatherv ? deliver_to_all : deliver_each;
  for (int p = 0; p < team.place_count(); ++p)
    move(actor, actor.team().place(p).members,
         static_cast<const unsigned char*>(actor.post_of(p).source));
}

void copy_blocks(Actor& actor) {
  // Each place begins with its own members: their data are near, and two places do not read the
  // same buffer at the same time.
  const int n = actor.team().size();
  const int first = actor.place().members.front();
  const std::span<const Receiver> receivers = receivers_of(actor);
  std::array<Sender, kTogetherUneven> senders;
  const size_t most = receivers.front().block != 0 ? kTogether : senders.size();
  for (int i = 0; i < n;) {
    size_t count = 0;
    for (; count < most && i < n; ++count, ++i) {
      const int s = (first + i) % n;
      senders[count] = {&actor.call_of(s), s};
    }
    copy_from(actor, receivers, std::span(senders).first(count));
  }
  actor.meet();
}

}  // namespace mpc::nbc::direct
