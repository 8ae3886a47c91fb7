#include "nbc/algorithms/parts.h"

#include "base/settings.h"
#include "nbc/algorithms/nest.h"

namespace mpc::nbc {

BufferRef send_block(const Shape& s, int i) {
  const auto at = static_cast<size_t>(i);
  switch (traits_of(s.coll).send) {
    case Layout::kCounted:
      return elements(kSendBuffer, kSendType, s.send_type, s.send_displs[at],
                      s.send_counts[at]);
    case Layout::kTyped:
      return {kSendBuffer, static_cast<uint16_t>(i), s.send_displs[at],
              s.send_counts[at]};
    case Layout::kBlocks:
      return elements(kSendBuffer, kSendType, s.send_type, i * s.send_count,
                      s.send_count);
    case Layout::kWhole:
    case Layout::kNone:
      break;
  }
  return elements(kSendBuffer, kSendType, s.send_type, 0, s.send_count);
}

BufferRef recv_block(const Shape& s, int i, int send_count) {
  const auto at = static_cast<size_t>(i);
  switch (traits_of(s.coll).recv) {
    case Layout::kCounted:
      return elements(kRecvBuffer, kRecvType, s.recv_type, s.recv_displs[at],
                      s.recv_counts[at]);
    case Layout::kTyped:
      return {kRecvBuffer, static_cast<uint16_t>(send_count + i), s.recv_displs[at],
              s.recv_counts[at]};
    case Layout::kBlocks:
      return elements(kRecvBuffer, kRecvType, s.recv_type, i * s.recv_count,
                      s.recv_count);
    case Layout::kWhole:
    case Layout::kNone:
      break;
  }
  return elements(kRecvBuffer, kRecvType, s.recv_type, 0, s.recv_count);
}

namespace {

IntSetting segment_setting{"nbc.segment_bytes", 64 << 10, "bytes",
                           "size of the pieces in which pipelined collectives send", 1};
IntSetting arity_setting{"nbc.arity",
                         4,
                         "",
                         "Arity of the algorithms called knomial: how many children "
                         "a rank has at each level of the tree, plus one.",
                         2,
                         1024};

}  // namespace

int arity_of(const Shape& s) {
  return s.arity >= 2 ? s.arity : static_cast<int>(arity_setting.get());
}

int64_t segment_bytes_of(const Shape& s) {
  return s.segment_bytes > 0 ? s.segment_bytes : segment_setting.get();
}

Tree shape_tree(TreeKind kind, const Shape& s, int root) {
  const bool is_nested = s.homes != nullptr &&
                         (kind == TreeKind::kPlaces || kind == TreeKind::kPlacesFlat);
  if (!is_nested)
    return make_tree(kind, s.rank, s.size, root, s.place_of_rank, arity_of(s));
  const bool is_ordered = traits_of(s.coll).is_reduction && !s.is_commutative;
  const Nest& nest = is_ordered ? s.homes->in_order() : s.homes->all();
  return nest.tree(s.rank, root, {kind == TreeKind::kPlacesFlat, false});
}

Tree split_tree(TreeKind kind, const Shape& s, int root) {
  Tree tree = shape_tree(kind, s, root);
  if (s.split > 0) tree.application_level = std::max(0, tree.height - s.split);
  return tree;
}

constexpr int kMaxSegments = 64;  // each needs scratch memory and nodes of its own

Chunks segments(const Shape& s) {
  const int64_t bytes = total_bytes(s.recv_count, s.recv_type);
  const int64_t segment = segment_bytes_of(s);
  const int64_t wanted =
      std::min(bytes / segment + (bytes % segment != 0 ? 1 : 0), s.recv_count);
  return {s.recv_count, static_cast<int>(std::clamp<int64_t>(wanted, 1, kMaxSegments))};
}

BufferRef byte_scratch(B& b, int64_t bytes) {
  return b.scratch(bytes, bytes, kByteType);
}

BufferRef typed_scratch(B& b, uint16_t type, const TypeShape& shape, Count count) {
  // The extent may be negative or zero, so the first byte may belong to the last element.
  int64_t low = shape.true_lb, high = shape.true_lb + shape.true_extent;
  int64_t reach;
  if (__builtin_mul_overflow(count > 0 ? count - 1 : 0, shape.extent, &reach))
    return b.scratch(-1, count, type);
  if (reach < 0) low += reach;
  if (reach > 0 && __builtin_add_overflow(high, reach, &high))
    return b.scratch(-1, count, type);
  // Shifts down by whole alignment units, so that elements stay aligned as in the user's buffer.
  const int64_t shift = low & 63;
  BufferRef ref = b.scratch(high - low + shift, count, type);
  ref.offset += shift - low;
  return ref;
}

NodeId reduce_up(B& b, const Shape& s, const Tree& tree, Value mine, bool is_writable,
                 const BufferRef* result, int tag) {
  const Count count = mine.ref.count;
  const bool keep_here = is_writable && s.is_commutative;
  // The last child's value is received in the result's place, unless that is in use.
  const bool last_in_result = tree.parent < 0 && !is_writable;
  Value value = mine;
  for (size_t i = 0; i < tree.children.size(); ++i) {
    const TreeChild& child = tree.children[i];
    const bool is_last = i + 1 == tree.children.size();
    const BufferRef other = is_last && last_in_result
                                ? *result
                                : typed_scratch(b, mine.ref.type, s.recv_type, count);
    const NodeId received =
        on_edge(b, tree, b.recv(child.rank, other, tag), child.level);
    const NodeId reduced =
        keep_here ? b.reduce(other, value.ref) : b.reduce(value.ref, other);
    on_edge(b, tree, reduced, child.level);
    b.connect(received, reduced);
    b.connect(value.ready, reduced);
    value = {keep_here ? value.ref : other, reduced};
  }
  if (tree.parent >= 0) {
    const NodeId sent =
        on_edge(b, tree, b.send(tree.parent, value.ref, tag), tree.level);
    return after(b, value.ready, sent);
  }
  const bool is_there =
      value.ref.slot == result->slot && value.ref.offset == result->offset;
  if (is_there) return value.ready;
  return after(b, value.ready, on_edge(b, tree, b.copy(value.ref, *result), 0));
}

NodeId bcast_down(B& b, const Tree& tree, BufferRef buffer, NodeId guard, int tag) {
  NodeId have = guard;
  if (tree.parent >= 0) {
    have = on_edge(b, tree, b.recv(tree.parent, buffer, tag), tree.level);
    b.connect(guard, have);
  }
  for (size_t i = tree.children.size(); i-- > 0;) {
    const TreeChild& child = tree.children[i];
    after(b, have, on_edge(b, tree, b.send(child.rank, buffer, tag), child.level));
  }
  return have;
}

}  // namespace mpc::nbc
