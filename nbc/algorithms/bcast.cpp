// Broadcast.
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

constexpr int kMaxSegments = 512;  // well below kTagsPerCollective

template <TreeKind kind>
void bcast_tree(B& b, const Shape& s) {
  const TreeKind fit = fit_tree(kind, s, total_bytes(s.recv_count, s.recv_type));
  bcast_down(b, split_tree(fit, s, s.root), result(s), kNoNode, 0);
}

// The buffer as bytes that can be cut anywhere. Ranks may describe the same bytes by different
// types, so a cut need not be at the end of an element: data with gaps goes through scratch memory.
class ByteBuffer {
 public:
  ByteBuffer(B& b, const Shape& s)
      : builder_(b), user_(result(s)), is_root_(s.rank == s.root) {
    const int64_t bytes = total_bytes(s.recv_count, s.recv_type);
    packed_ = !s.recv_type.is_contiguous;
    bytes_ =
        packed_ ? byte_scratch(b, bytes) : BufferRef{user_.slot, kByteType, 0, bytes};
    if (packed_) moved_ = is_root_ ? b.copy(user_, bytes_) : b.copy(bytes_, user_);
  }
  BufferRef at(int64_t offset, int64_t bytes) const {
    return bytes_at(bytes_, offset, bytes);
  }
  // The node that must complete before the root's bytes are read.
  NodeId ready() const { return is_root_ ? moved_ : kNoNode; }
  // The copy belongs to the edge on which the bytes arrive, or
  // at the root to the edge on which they leave.
  void mark(const Tree& tree) {
    if (packed_) on_edge(builder_, tree, moved_, is_root_ ? 0 : tree.level);
  }
  void received(NodeId node) {
    if (!is_root_) builder_.connect(node, moved_);
  }

 private:
  B& builder_;
  BufferRef user_, bytes_;
  bool packed_, is_root_;
  NodeId moved_ = kNoNode;
};

// A tree in which every segment is passed on as soon as it has arrived (Nomura et al., figure 2).
template <TreeKind kind>
void bcast_segmented(B& b, const Shape& s) {
  const Tree tree = split_tree(kind, s, s.root);
  const int64_t bytes = total_bytes(s.recv_count, s.recv_type);
  const int64_t segment = segment_bytes_of(s);
  const int64_t wanted = bytes / segment + (bytes % segment != 0 ? 1 : 0);
  const Chunks chunks{bytes,
                      static_cast<int>(std::clamp<int64_t>(wanted, 1, kMaxSegments))};
  ByteBuffer buffer(b, s);
  buffer.mark(tree);
  for (int i = 0; i < chunks.parts; ++i) {
    if (chunks.size(i, i + 1) == 0) continue;
    buffer.received(bcast_down(
        b, tree, buffer.at(chunks.first(i), chunks.size(i, i + 1)), buffer.ready(), i));
  }
}

// The root's buffer is cut into n pieces and scattered down a binomial tree, then the pieces go
// round a ring; pieces that a rank already has from the scatter are not sent again.
void bcast_scatter_ring(B& b, const Shape& s) {
  const int n = s.size;
  const int v = (s.rank - s.root + n) % n;
  const Chunks chunks{total_bytes(s.recv_count, s.recv_type), n};
  const Tree tree = make_tree(TreeKind::kBinomial, s.rank, n, s.root, {});
  ByteBuffer buffer(b, s);
  auto piece = [&](int from, int to) {
    return buffer.at(chunks.first(from), chunks.size(from, to));
  };
  NodeId have = buffer.ready();
  if (tree.parent >= 0 && chunks.size(v, v + tree.span) > 0) {
    have = with_level(b, b.recv(tree.parent, piece(v, v + tree.span), 0), tree.level);
    buffer.received(have);
  }
  for (size_t i = tree.children.size(); i-- > 0;) {
    const TreeChild& child = tree.children[i];
    if (chunks.size(child.first, child.first + child.count) == 0) continue;
    const BufferRef data = piece(child.first, child.first + child.count);
    after(b, have, with_level(b, b.send(child.rank, data, 0), child.level));
  }
  const int right = (s.rank + 1) % n, left = (s.rank - 1 + n) % n;
  const int right_v = (v + 1) % n;
  const int right_span = make_tree(TreeKind::kBinomial, right, n, s.root, {}).span;
  std::vector<NodeId> ready(static_cast<size_t>(n), kNoNode);
  for (int i = v; i < v + tree.span; ++i) ready[static_cast<size_t>(i)] = have;
  TagStream sends(1, 1000), recvs(1, 1000);
  int sent = 0, received = 0;
  for (int step = 0; step < n - 1; ++step) {
    const int out = (v - step + n) % n, in = (v - step - 1 + n) % n;
    const bool right_has = out >= right_v && out < right_v + right_span;
    if (!right_has && chunks.size(out, out + 1) > 0) {
      const NodeId node = b.send(right, piece(out, out + 1), sends.tag(sent++));
      sends.add(b, node);
      b.connect(ready[static_cast<size_t>(out)], node);
    }
    const bool have_from_tree = in >= v && in < v + tree.span;
    if (!have_from_tree && chunks.size(in, in + 1) > 0) {
      const NodeId node = b.recv(left, piece(in, in + 1), recvs.tag(received++));
      recvs.add(b, node);
      buffer.received(node);
      ready[static_cast<size_t>(in)] = node;
    }
  }
}

constexpr Algorithm kBcast[] = {
    {Coll::kBcast, "tree", kNoRestriction,
     "a tree that crosses between places as rarely as it can",
     bcast_tree<TreeKind::kPlaces>},
    {Coll::kBcast, "linear", kNoRestriction, "the root sends to everyone",
     bcast_tree<TreeKind::kFlat>},
    {Coll::kBcast, "binomial", kNoRestriction, "binomial tree",
     bcast_tree<TreeKind::kBinomial>},
    {Coll::kBcast, "knomial", kNoRestriction, "k-nomial tree, k by nbc.arity",
     bcast_tree<TreeKind::kKnomial>},
    {Coll::kBcast, "chain", kNoRestriction,
     "a chain in segments (Nomura et al., figure 2)",
     bcast_segmented<TreeKind::kChain>},
    {Coll::kBcast, "binomial_segmented", kNoRestriction, "binomial tree in segments",
     bcast_segmented<TreeKind::kBinomial>},
    {Coll::kBcast, "knomial_segmented", kNoRestriction, "k-nomial tree in segments",
     bcast_segmented<TreeKind::kKnomial>},
    {Coll::kBcast, "tree_segmented", kNoRestriction, "the tree of places in segments",
     bcast_segmented<TreeKind::kPlaces>},
    {Coll::kBcast, "scatter_ring", kNoRestriction,
     "binomial scatter of n pieces, then a ring", bcast_scatter_ring},
};

}  // namespace

std::span<const Algorithm> bcast_algorithms() { return kBcast; }

}  // namespace mpc::nbc
