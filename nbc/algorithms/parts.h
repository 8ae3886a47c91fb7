#pragma once
// Parts: what the builders of nbc/algorithms share.
//
// Role:      references to parts of buffers, scratch memory for elements with gaps, chunks, the two halves
//            of tree collectives.
// Users:     nbc/algorithms only.
// Threads:   pure functions.
// See also:  nbc/algorithms/collectives.h, tree.h.

#include <algorithm>
#include <vector>

#include "nbc/algorithms/collectives.h"
#include "nbc/algorithms/tree.h"

namespace mpc::nbc {

using B = ScheduleBuilder;

// Something that lies at `ref` once `ready` is complete.
struct Value {
  BufferRef ref;
  NodeId ready = kNoNode;
};

// `id`, which may start only after `before`.
inline NodeId after(B& b, NodeId before, NodeId id) {
  b.connect(before, id);
  return id;
}
inline NodeId with_level(B& b, NodeId id, int level) {
  b.node(id).level = level;
  return id;
}

// The tree of the shape, with its arity, places and homes: a tree of places is one of hosts,
// processes and workers where the shape has homes.
Tree shape_tree(TreeKind kind, const Shape& s, int root);
// The tree of a collective whose tree can be split: its lowest levels are marked as s.split
// says.
Tree split_tree(TreeKind kind, const Shape& s, int root);
// `id` belongs to an edge of the tree at this level.
inline NodeId on_edge(B& b, const Tree& tree, NodeId id, int level) {
  Node& node = b.node(id);
  node.level = level;
  if (level >= tree.application_level) node.where = Where::kApplication;
  return id;
}

// `count` elements from the `first`-th on of an array of elements at the slot's address.
inline BufferRef elements(uint16_t slot, uint16_t type, const TypeShape& shape,
                          Count first, Count count) {
  return {slot, type, first * shape.extent, count};
}
// Where the block for rank (neighbour, rank of the other group) `i` lies, and the shape of its
// type, by the layouts of the collective. With kWhole there is one block: `i` means nothing.
BufferRef send_block(const Shape& s, int i);
inline const TypeShape& send_block_type(const Shape& s, int i) {
  return traits_of(s.coll).send == Layout::kTyped ? s.send_types[static_cast<size_t>(i)]
                                                  : s.send_type;
}
// ... and that from rank `i`. `send_count`: in w forms the types of so many send blocks are bound
// before those of the receive blocks.
BufferRef recv_block(const Shape& s, int i, int send_count);
inline const TypeShape& recv_block_type(const Shape& s, int i) {
  return traits_of(s.coll).recv == Layout::kTyped ? s.recv_types[static_cast<size_t>(i)]
                                                  : s.recv_type;
}
// The same array seen from a BufferRef: skip `first` elements, take `count`.
inline BufferRef part(const BufferRef& array, const TypeShape& shape, Count first,
                      Count count) {
  return {array.slot, array.type, array.offset + first * shape.extent, count};
}
inline BufferRef bytes_at(const BufferRef& base, int64_t offset, int64_t bytes) {
  return {base.slot, kByteType, base.offset + offset, bytes};
}
// Packed data.
BufferRef byte_scratch(B& b, int64_t bytes);
// `count` elements with their gaps; the BufferRef's offset is that of the first element's address,
// which need not be its first byte (true lower bound).
BufferRef typed_scratch(B& b, uint16_t type, const TypeShape& shape, Count count);

// Elements [first(i), first(i+1)) of `count` are part i of `parts`; sizes differ by one at most.
struct Chunks {
  Count count;
  int parts;
  Count first(int i) const {
    return count / parts * i + std::min<Count>(count % parts, i);
  }
  Count size(int from, int to) const { return first(to) - first(from); }
};

// Messages to or from one peer whose tags would not fit: tags are used again, and then a
// message waits for the earlier one of the same tag.
class TagStream {
 public:
  TagStream(int first_tag, int tag_count) : first_(first_tag), tags_(tag_count) {}
  int tag(int message) const { return first_ + message % tags_; }
  void add(B& b, NodeId node) {
    if (nodes_.size() >= static_cast<size_t>(tags_))
      b.connect(nodes_[nodes_.size() - static_cast<size_t>(tags_)], node);
    nodes_.push_back(node);
  }

 private:
  int first_, tags_;
  std::vector<NodeId> nodes_;
};

// This rank's contribution to a reduction.
inline BufferRef contribution(const Shape& s) {
  const uint16_t slot = s.is_in_place ? kRecvBuffer : kSendBuffer;
  return elements(slot, kRecvType, s.recv_type, 0, s.recv_count);
}
inline BufferRef result(const Shape& s) {
  return elements(kRecvBuffer, kRecvType, s.recv_type, 0, s.recv_count);
}

// Reduces over the subtree, in rank order counted from the root, and sends to the parent. At
// the root the value lies in *result afterwards. `is_writable`: `mine` is the buffer that
// *result names, or scratch: it may be overwritten.
// Returns: the last node here: the send, or what completes *result.
NodeId reduce_up(B& b, const Shape& s, const Tree& tree, Value mine, bool is_writable,
                 const BufferRef* result, int tag);

// Receives `buffer` from the parent (not before `guard`) and sends it to the children. At the
// root `guard` is what completes the buffer.
// Returns: the receive; at the root `guard`.
NodeId bcast_down(B& b, const Tree& tree, BufferRef buffer, NodeId guard, int tag);

// A reduction's vector in segments of whole elements, 64 at most.
Chunks segments(const Shape& s);

inline int64_t total_bytes(Count count, const TypeShape& type) {
  return count * type.size;
}
// What this rank has for one block of a gather or scatter without sizes of its own: the root on
// its side, the others on theirs; of other collectives, the receive side.
inline int64_t block_bytes(const Shape& s) {
  const CollTraits& traits = traits_of(s.coll);
  const bool sends = traits.gathers_on_the_way() &&
                     (s.rank == s.root) == (traits.root == RootRole::kSends);
  return sends ? total_bytes(s.send_count, s.send_type)
               : total_bytes(s.recv_count, s.recv_type);
}
inline int log2_ceil(int n) {
  return n <= 1 ? 0 : 32 - __builtin_clz(static_cast<unsigned>(n - 1));
}
inline int log2_floor(int n) { return 31 - __builtin_clz(static_cast<unsigned>(n)); }

// The ranks without which a power of two is left: the first 2 * extra ranks pair up, the odd
// ones hand their value to the even ones before, and get the result after.
struct Fold {
  int pow2, extra;
  explicit Fold(int n) : pow2(1 << log2_floor(n)), extra(n - pow2) {}
  bool is_out(int rank) const { return rank < 2 * extra && rank % 2 == 1; }
  int folded(int rank) const { return rank < 2 * extra ? rank / 2 : rank - extra; }
  int unfolded(int v) const { return v < extra ? 2 * v : v + extra; }
};

inline constexpr int kFoldTag = 900, kUnfoldTag = 901;  // rounds use tags from 0 on

// Over hosts, processes and workers (nbc/algorithms/nested.cpp). Requires: s.homes.
void gather_nested(B& b, const Shape& s);
void scatter_nested(B& b, const Shape& s);
void allgather_nested(B& b, const Shape& s);
void allgatherv_nested(B& b, const Shape& s);
// nbc/algorithms/nested_alltoall.cpp, nested_reductions.cpp. Those over regions need
// regions_of_reduction(s), scans rows of ranks.
void alltoall_nested(B& b, const Shape& s, const Homes& homes);
void reduce_scatter_nested(B& b, const Shape& s);
void reduce_scatter_regions(B& b, const Shape& s);
void scan_regions(B& b, const Shape& s);
void scan_gathered(B& b, const Shape& s);
class Regions;
// In which a reduction may combine ranks before it combines the results: any, or if order matters only rows of ranks.
// Null: there are none.
const Regions* regions_of_reduction(const Shape& s);

// With whom a rank exchanges at a time; -1: nobody. In step i it gets what that one sends to it in step i.
struct Step {
  int to, from;
};
std::vector<Step> steps_of(const Shape& s);

// The tree of the first two: its height is what Shape::split counts in.
Tree nested_tree(const Shape& s);

// The lists that table.cpp joins. The first of each collective has no restriction.
std::span<const Algorithm> barrier_algorithms();
std::span<const Algorithm> bcast_algorithms();
std::span<const Algorithm> gather_algorithms();
std::span<const Algorithm> scatter_algorithms();
std::span<const Algorithm> allgather_algorithms();
std::span<const Algorithm> alltoall_algorithms();
std::span<const Algorithm> reduce_algorithms();
std::span<const Algorithm> reduce_scatter_algorithms();
std::span<const Algorithm> scan_algorithms();
std::span<const Algorithm> neighbor_algorithms();

}  // namespace mpc::nbc
