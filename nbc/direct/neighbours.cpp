// Neighbourhood exchanges of nbc/direct. Each member shows its blocks in its post, if they fit.
// Otherwise it shows the address of its call, and waits until its destinations have copied. It
// copies what it receives from its sources' posts, or directly from their buffers.
#include "nbc/direct/blocks.h"
#include "nbc/direct/lane.h"
#include "nbc/direct/one_way.h"

namespace mpc::nbc::direct {
namespace {

// How many different blocks a member sends.
int blocks_of(const NeighbourCall& call) noexcept {
  return call.coll == Coll::kNeighborAllgather
             ? 1
             : static_cast<int>(call.destinations.size());
}

// The block of source `i` that a member receives. In a Cartesian grid neighbours come in pairs:
// what arrives from the negative side was sent in the positive direction.
int block_from(const NeighbourCall& call, int i) noexcept {
  return call.coll == Coll::kNeighborAllgather ? 0 : i ^ 1;
}

// False: destinations read the blocks from the member's buffer, while it waits.
bool show_blocks(Lane& lane, const NeighbourCall& call, size_t bytes) {
  const auto blocks = static_cast<size_t>(blocks_of(call));
  const bool fits = bytes == 0 || blocks == 0 || bytes <= kScratchBytes / blocks;
  lane.claim(fits ? bytes * blocks : 0);
  Post& post = lane.mine();
  post.key = make_key(call.coll, 0, bytes);
  post.source = nullptr;
  post.target = const_cast<NeighbourCall*>(&call);  // only read
  if (fits && bytes != 0) {
    unsigned char* const room = lane.room_for(bytes * blocks);
    for (size_t i = 0; i < blocks; ++i)
      pack(block_at(call.send, static_cast<int>(i)), room + i * bytes);
    post.source = room;
  }
  lane.show();
  for (const int m : call.destinations)
    if (m >= 0) lane.wake(m);
  lane.expect(bytes * blocks);
  return fits;
}

// Copies what source `i` sends. True: from the buffer of the source, which waits for that.
bool take_from(Lane& lane, const NeighbourCall& call, int i, Outcome& outcome) {
  const int source = call.sources[static_cast<size_t>(i)];
  const Post& post = lane.see(source);
  const Block to = block_at(call.recv, i);
  const uint64_t own_key = make_key(call.coll, 0, to.bytes());
  if (!is_same_call(post.key, own_key)) {
    lane.complain(outcome, source, own_key);
    return false;
  }
  const size_t bytes = bytes_of(post.key);
  const auto block = static_cast<size_t>(block_from(call, i));
  if (bytes == 0) return false;
  if (bytes > to.bytes()) {
    outcome.truncated_by = source;
    return post.source == nullptr;
  }
  if (post.source != nullptr) {
    unpack(static_cast<const unsigned char*>(post.source) + block * bytes, bytes, to);
    return false;
  }
  const auto& sender = *static_cast<const NeighbourCall*>(post.target);
  const Block from = block_at(sender.send, static_cast<int>(block));
  dt::copy(to.data, *to.type, to.count, from.data, *from.type, from.count);
  return true;
}

}  // namespace

Outcome run_with_neighbours(Team& team, int member, job::Rank& self,
                            const NeighbourCall& call, const sched::WaitReason& why) {
  Lane lane(team, member, self, why);
  lane.go(Member::kBothWays);
  const bool fits = show_blocks(lane, call, call.send.bytes());
  Outcome outcome;
  bool has_read = false;
  for (int i = 0; i < static_cast<int>(call.sources.size()); ++i) {
    if (call.sources[static_cast<size_t>(i)] >= 0)
      has_read |= take_from(lane, call, i, outcome);
  }
  if (has_read) lane.say_read();
  if (!fits) {
    for (const int m : call.destinations)
      if (m >= 0 && m != member) lane.await_reader(m);
  }
  lane.leave();
  return outcome;
}

}  // namespace mpc::nbc::direct
