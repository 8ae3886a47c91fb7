#include "nbc/direct/one_way.h"

#include <algorithm>

#include "base/trace.h"
#include "nbc/direct/blocks.h"
#include "nbc/direct/fold.h"
#include "nbc/direct/lane.h"
#include "nbc/direct/partners.h"

namespace mpc::nbc::direct {
namespace {

constexpr trace::Site kAct{
    "direct", "act", {"collective", "bytes", "one_way"}, true, true};

size_t block_bytes(const OneWayCall& call) noexcept {
  return call.send.type != nullptr ? call.send.bytes() : call.recv.bytes();
}

// The place of a member's block in the post of a scatter's root, which has none for itself.
int row_of(int member, int root) noexcept {
  return member > root ? member - 1 : member;
}

// The direction of the data. In two collectives of the same direction in turn, senders do not wait
// for receivers.
int way_of(const OneWayCall& call) noexcept {
  switch (call.coll) {
    case Coll::kBcast:
    case Coll::kScatter:
      return 2 * call.root;
    case Coll::kGather:
    case Coll::kReduce:
      return 2 * call.root + 1;
    default:
      return Member::kUpwards;
  }
}

// ---- what a member shows -----------------------------------------------------------------

void give(Lane& lane, const OneWayCall& call, size_t bytes, int size) {
  if (call.coll != Coll::kScatter) {
    lane.claim(bytes);
    unsigned char* const room = lane.room_for(bytes);
    pack(call.send, room);
    lane.mine().source = room;
    return;
  }
  const size_t all = bytes * static_cast<size_t>(size - 1);
  lane.claim(all);
  unsigned char* const room = lane.room_for(all);
  lane.mine().source = room;
  for (int m = 0; m < size; ++m) {
    if (m == call.root) continue;
    pack(block_at(call.send, m),
         room + bytes * static_cast<size_t>(row_of(m, call.root)));
  }
}

// ---- what it receives --------------------------------------------------------------------

// Copies a block of `bytes` from `source` into `to`. In a bcast all members have blocks of one
// length.
void take_block(const unsigned char* from, size_t bytes, int source, const Block& to,
                bool must_be_whole, Outcome& outcome) {
  const size_t room = to.bytes();
  if (bytes > room) {
    outcome.truncated_by = source;
    return;
  }
  unpack(from, bytes, to);
  if (bytes < room && must_be_whole) outcome.short_from = source;
}

const unsigned char* data_of(const Post& post) noexcept {
  return static_cast<const unsigned char*>(post.source);
}

void copy_own(const Block& from, const Block& to, int member, Outcome& outcome) {
  if (from.type == nullptr || to.type == nullptr) return;  // in place
  if (from.bytes() > to.bytes()) {
    outcome.truncated_by = member;
  } else if (from.data != to.data) {
    dt::copy(to.data, *to.type, to.count, from.data, *from.type, from.count);
  }
}

void take_blocks(Lane& lane, const OneWayCall& call, Range sources, Outcome& outcome) {
  const int me = lane.member();
  for (int s = sources.first; s < sources.last; ++s) {
    if (s == me) continue;
    const Post& post = lane.post_of(s);
    const size_t bytes = bytes_of(post.key);
    if (call.coll == Coll::kGather) {
      take_block(data_of(post), bytes, s, block_at(call.recv, s), false, outcome);
    } else if (call.coll == Coll::kScatter) {
      const auto row = static_cast<size_t>(row_of(me, call.root));
      take_block(data_of(post) + row * bytes, bytes, s, call.recv, false, outcome);
    } else {
      take_block(data_of(post), bytes, s, call.recv, true, outcome);
    }
  }
  if (me != call.root) return;
  if (call.coll == Coll::kGather) {
    copy_own(call.send, block_at(call.recv, me), me, outcome);
  } else if (call.coll == Coll::kScatter) {
    copy_own(block_at(call.send, me), call.recv, me, outcome);
  }
}

void take_values(Lane& lane, const OneWayCall& call, Range sources) {
  const int me = lane.member();
  const Count count = call.send.count;
  const auto element = static_cast<size_t>(call.send.type->size());
  const void* own = call.send.data;
  // An exscan takes the values below the member's own, a scan also its own.
  const int last = call.coll == Coll::kScan ? sources.last + 1 : sources.last;
  alignas(64) unsigned char kept[kScratchBytes];
  if (own == call.recv.data &&
      me + 1 < last) {  // in place, and read after the first write
    std::memcpy(kept, own, static_cast<size_t>(count) * element);
    own = kept;
  }
  fold(
      call.op, last, [&](int m) { return m == me ? own : lane.post_of(m).source; },
      call.recv.data, count, element);
}

bool is_reduction(Coll coll) noexcept {
  return coll == Coll::kReduce || coll == Coll::kScan || coll == Coll::kExscan;
}

// Waits for the posts. False: one of them belongs to another call.
bool see_all(Lane& lane, Range sources, uint64_t key, bool are_alike,
             Outcome& outcome) {
  bool is_right = true;
  for (int s = sources.first; s < sources.last; ++s) {
    if (s == lane.member()) continue;
    const uint64_t other = lane.see(s).key;
    if (other == key) [[likely]]
      continue;
    if (is_right && (are_alike || !is_same_call(other, key))) {
      lane.complain(outcome, s, key);
      is_right = false;
    }
  }
  return is_right;
}

void take(Lane& lane, const OneWayCall& call, uint64_t key, int size,
          Outcome& outcome) {
  const Range sources = sources_of(call.coll, call.root, lane.member(), size);
  const bool reduces = is_reduction(call.coll);
  if (!see_all(lane, sources, key, reduces, outcome)) return;
  if (!reduces) {
    take_blocks(lane, call, sources, outcome);
  } else if (!sources.is_empty() || call.coll == Coll::kScan) {
    take_values(lane, call, sources);
  }
}

}  // namespace

bool can_go_one_way(const Team& team) noexcept {
  return team.is_spread() || team.size() <= kMostSharing ||
         team.place_count() <= kFewPlaces;
}

bool fits_one_way(const Team& team, Coll coll, size_t bytes) noexcept {
  // One member receives the values of all, or each member those of all before it: a tree spreads
  // this. Its messages cost more than values that fit in posts.
  constexpr size_t kMostTaken = 8192;
  if (is_reduction(coll) && !team.is_spread()) {
    const size_t least = coll == Coll::kReduce ? Post::kInlineBytes : 0;
    if (bytes > std::max(kMostTaken / static_cast<size_t>(team.size()), least))
      return false;
    if (coll != Coll::kReduce && team.size() > kMostScanning) return false;
  }
  const size_t blocks =
      coll == Coll::kScatter ? static_cast<size_t>(team.size() - 1) : 1;
  return can_go_one_way(team) && bytes != 0 && bytes <= kScratchBytes / blocks;
}

Outcome run_one_way(Team& team, int member, job::Rank& self, const OneWayCall& call,
                    const sched::WaitReason& why) {
  Lane lane(team, member, self, why);
  const size_t bytes = block_bytes(call);
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]]
    trace::begin(kAct, {trace::text(name_of(call.coll)), bytes, 1});
  const uint64_t key = make_key(call.coll, call.op_code, bytes);
  const int size = team.size();
  const Range readers = readers_of(call.coll, call.root, member, size);
  lane.go(way_of(call));
  if (!readers.is_empty()) {
    give(lane, call, bytes, size);
    lane.mine().key = key;
    lane.show();
    for (int m = readers.first; m < readers.last; ++m) lane.wake(m);
  }
  lane.expect(bytes);
  Outcome outcome;
  take(lane, call, key, size, outcome);
  lane.leave();
  if (is_traced) [[unlikely]]
    trace::end(kAct);
  return outcome;
}

}  // namespace mpc::nbc::direct
