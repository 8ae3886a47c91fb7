// Scatter and scatterv.
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

BufferRef own_block(const Shape& s) {
  return elements(kRecvBuffer, kRecvType, s.recv_type, 0, s.recv_count);
}

void scatter_linear(B& b, const Shape& s) {
  const Tree tree = split_tree(TreeKind::kFlat, s, s.root);
  if (s.rank != s.root) {
    on_edge(b, tree, b.recv(s.root, own_block(s)), 0);
    return;
  }
  auto block = [&](int i) {
    return elements(kSendBuffer, kSendType, s.send_type, i * s.send_count,
                    s.send_count);
  };
  for (const Step& step : steps_of(s)) {
    const int to = step.to;
    if (to < 0) continue;
    on_edge(b, tree, b.send(to, block(to)), 0);
  }
  if (!s.is_in_place) on_edge(b, tree, b.copy(block(s.rank), own_block(s)), 0);
}

void scatterv_linear(B& b, const Shape& s) {
  const Tree tree = split_tree(TreeKind::kFlat, s, s.root);
  if (s.rank != s.root) {
    if (total_bytes(s.recv_count, s.recv_type) > 0)
      on_edge(b, tree, b.recv(s.root, own_block(s)), 0);
    return;
  }
  auto block = [&](int i) {
    const auto at = static_cast<size_t>(i);
    return elements(kSendBuffer, kSendType, s.send_type, s.send_displs[at],
                    s.send_counts[at]);
  };
  for (const Step& step :
       steps_of(s)) {  // several processes: one after the other, in turn
    const int to = step.to;
    if (to < 0) continue;
    if (total_bytes(block(to).count, s.send_type) > 0)
      on_edge(b, tree, b.send(to, block(to)), 0);
  }
  if (!s.is_in_place && total_bytes(block(s.rank).count, s.send_type) > 0)
    on_edge(b, tree, b.copy(block(s.rank), own_block(s)), 0);
}

// Inner ranks of the tree pass on packed bytes, because their own type may differ from the root's.
template <TreeKind kind>
void scatter_tree(B& b, const Shape& s) {
  const Tree tree = split_tree(kind, s, s.root);
  const int v = (s.rank - s.root + s.size) % s.size;
  if (tree.parent >= 0 && tree.children.empty()) {
    on_edge(b, tree, b.recv(tree.parent, own_block(s)), tree.level);
    return;
  }
  if (tree.parent >= 0) {
    const int64_t block = total_bytes(s.recv_count, s.recv_type);
    const BufferRef all = byte_scratch(b, block * tree.span);
    const NodeId received = on_edge(b, tree, b.recv(tree.parent, all), tree.level);
    for (size_t i = tree.children.size(); i-- > 0;) {
      const TreeChild& child = tree.children[i];
      const BufferRef data =
          bytes_at(all, (child.first - v) * block, child.count * block);
      after(b, received, on_edge(b, tree, b.send(child.rank, data), child.level));
    }
    const NodeId own = b.copy(bytes_at(all, 0, block), own_block(s));
    after(b, received, on_edge(b, tree, own, tree.level));
    return;
  }
  auto blocks = [&](int first, int count) {
    return elements(kSendBuffer, kSendType, s.send_type, first * s.send_count,
                    count * s.send_count);
  };
  const int64_t block = total_bytes(s.send_count, s.send_type);
  for (size_t i = tree.children.size(); i-- > 0;) {
    const TreeChild& child = tree.children[i];
    const int first = (child.first + s.root) % s.size;
    const int before_end = std::min(child.count, s.size - first);
    if (before_end == child.count) {
      on_edge(b, tree, b.send(child.rank, blocks(first, child.count)), child.level);
      continue;
    }
    // The blocks of this subtree belong to the last ranks and the first ones.
    const BufferRef data = byte_scratch(b, child.count * block);
    const NodeId sent = on_edge(b, tree, b.send(child.rank, data), child.level);
    const int rest = child.count - before_end;
    for (const NodeId copied :
         {b.copy(blocks(first, before_end), bytes_at(data, 0, before_end * block)),
          b.copy(blocks(0, rest), bytes_at(data, before_end * block, rest * block))})
      b.connect(on_edge(b, tree, copied, child.level), sent);
  }
  if (!s.is_in_place) on_edge(b, tree, b.copy(blocks(s.rank, 1), own_block(s)), 0);
}

void scatter_homes(B& b, const Shape& s) {
  if (s.homes != nullptr) return scatter_nested(b, s);
  scatter_tree<TreeKind::kBinomial>(b, s);
}

constexpr Algorithm kScatter[] = {
    {Coll::kScatter, "linear", kNoRestriction, "the root sends to everyone",
     scatter_linear},
    {Coll::kScatter, "binomial", kNoRestriction, "binomial tree, packed on the way",
     scatter_tree<TreeKind::kBinomial>},
    {Coll::kScatter, "knomial", kNoRestriction,
     "k-nomial tree, k by nbc.arity, packed on the way",
     scatter_tree<TreeKind::kKnomial>},
    {Coll::kScatter, "chain", kNoRestriction, "a chain, packed on the way",
     scatter_tree<TreeKind::kChain>},
    {Coll::kScatter, "tree", kNoRestriction,
     "one message between processes for each process; binomial in one process",
     scatter_homes},
    {Coll::kScatterv, "linear", kNoRestriction, "the root sends to everyone",
     scatterv_linear},
};

}  // namespace

std::span<const Algorithm> scatter_algorithms() { return kScatter; }

}  // namespace mpc::nbc
