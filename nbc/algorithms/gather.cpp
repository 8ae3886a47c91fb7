// Gather and gatherv.
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

BufferRef own_block(const Shape& s) {
  return elements(kSendBuffer, kSendType, s.send_type, 0, s.send_count);
}

// Every rank sends to the root, which receives each block where it belongs.
void gather_linear(B& b, const Shape& s) {
  const Tree tree = split_tree(TreeKind::kFlat, s, s.root);
  if (s.rank != s.root) {
    on_edge(b, tree, b.send(s.root, own_block(s)), 0);
    return;
  }
  for (int i = 1; i < s.size; ++i) {
    const int from = (s.root + i) % s.size;
    const BufferRef block = elements(kRecvBuffer, kRecvType, s.recv_type,
                                     from * s.recv_count, s.recv_count);
    on_edge(b, tree, b.recv(from, block), 0);
  }
  if (s.is_in_place) return;
  const BufferRef block = elements(kRecvBuffer, kRecvType, s.recv_type,
                                   s.rank * s.recv_count, s.recv_count);
  on_edge(b, tree, b.copy(own_block(s), block), 0);
}

void gatherv_linear(B& b, const Shape& s) {
  const Tree tree = split_tree(TreeKind::kFlat, s, s.root);
  if (s.rank != s.root) {
    if (total_bytes(s.send_count, s.send_type) > 0)
      on_edge(b, tree, b.send(s.root, own_block(s)), 0);
    return;
  }
  auto block = [&](int i) {
    const auto at = static_cast<size_t>(i);
    return elements(kRecvBuffer, kRecvType, s.recv_type, s.recv_displs[at],
                    s.recv_counts[at]);
  };
  for (int i = 1; i < s.size; ++i) {
    const int from = (s.root + i) % s.size;
    if (total_bytes(block(from).count, s.recv_type) > 0)
      on_edge(b, tree, b.recv(from, block(from)), 0);
  }
  if (!s.is_in_place && total_bytes(block(s.rank).count, s.recv_type) > 0)
    on_edge(b, tree, b.copy(own_block(s), block(s.rank)), 0);
}

// Inner ranks of the tree collect packed bytes, because their own type may differ from the root's.
template <TreeKind kind>
void gather_tree(B& b, const Shape& s) {
  const Tree tree = split_tree(kind, s, s.root);
  const int v = (s.rank - s.root + s.size) % s.size;
  if (tree.parent >= 0 && tree.children.empty()) {
    on_edge(b, tree, b.send(tree.parent, own_block(s)), tree.level);
    return;
  }
  if (tree.parent >= 0) {
    const int64_t block = total_bytes(s.send_count, s.send_type);
    const BufferRef all = byte_scratch(b, block * tree.span);
    const NodeId sent = on_edge(b, tree, b.send(tree.parent, all), tree.level);
    const NodeId own = b.copy(own_block(s), bytes_at(all, 0, block));
    b.connect(on_edge(b, tree, own, tree.level), sent);
    for (const TreeChild& child : tree.children) {
      const BufferRef data =
          bytes_at(all, (child.first - v) * block, child.count * block);
      b.connect(on_edge(b, tree, b.recv(child.rank, data), child.level), sent);
    }
    return;
  }
  auto blocks = [&](int first, int count) {
    return elements(kRecvBuffer, kRecvType, s.recv_type, first * s.recv_count,
                    count * s.recv_count);
  };
  const int64_t block = total_bytes(s.recv_count, s.recv_type);
  for (const TreeChild& child : tree.children) {
    const int first = (child.first + s.root) % s.size;
    const int before_end = std::min(child.count, s.size - first);
    if (before_end == child.count) {
      on_edge(b, tree, b.recv(child.rank, blocks(first, child.count)), child.level);
      continue;
    }
    // The blocks of this subtree belong to the last ranks and the first ones.
    const BufferRef data = byte_scratch(b, child.count * block);
    const NodeId received = on_edge(b, tree, b.recv(child.rank, data), child.level);
    const int rest = child.count - before_end;
    for (const NodeId copied :
         {b.copy(bytes_at(data, 0, before_end * block), blocks(first, before_end)),
          b.copy(bytes_at(data, before_end * block, rest * block), blocks(0, rest))})
      after(b, received, on_edge(b, tree, copied, child.level));
  }
  if (!s.is_in_place) on_edge(b, tree, b.copy(own_block(s), blocks(s.rank, 1)), 0);
}

void gather_homes(B& b, const Shape& s) {
  if (s.homes != nullptr) return gather_nested(b, s);
  gather_tree<TreeKind::kBinomial>(b, s);
}

constexpr Algorithm kGather[] = {
    {Coll::kGather, "linear", kNoRestriction, "everyone sends to the root",
     gather_linear},
    {Coll::kGather, "binomial", kNoRestriction, "binomial tree, packed on the way",
     gather_tree<TreeKind::kBinomial>},
    {Coll::kGather, "knomial", kNoRestriction,
     "k-nomial tree, k by nbc.arity, packed on the way",
     gather_tree<TreeKind::kKnomial>},
    {Coll::kGather, "chain", kNoRestriction, "a chain, packed on the way",
     gather_tree<TreeKind::kChain>},
    {Coll::kGather, "tree", kNoRestriction,
     "one message between processes for each process; binomial in one process",
     gather_homes},
    {Coll::kGatherv, "linear", kNoRestriction, "everyone sends to the root",
     gatherv_linear},
};

}  // namespace

std::span<const Algorithm> gather_algorithms() { return kGather; }

}  // namespace mpc::nbc
