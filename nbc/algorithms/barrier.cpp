// Barrier.
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

// Up and down a tree with empty messages.
template <TreeKind kind>
void barrier_tree(B& b, const Shape& s) {
  const Tree tree = shape_tree(kind, s, 0);
  const BufferRef nothing{kRecvBuffer, kByteType, 0, 0};
  NodeId up = tree.children.empty() ? kNoNode : b.nop();
  for (const TreeChild& child : tree.children)
    b.connect(with_level(b, b.recv(child.rank, nothing), child.level), up);
  if (tree.parent >= 0)
    up = after(b, up, with_level(b, b.send(tree.parent, nothing), tree.level));
  // The receive is posted early; the parent sends in an order that makes
  // sure it cannot complete before this rank has sent.
  bcast_down(b, tree, nothing, tree.parent >= 0 ? kNoNode : up, 0);
}

// Round k: a signal goes to rank + 2^k after all signals of the earlier rounds have come.
void barrier_dissemination(B& b, const Shape& s) {
  const BufferRef nothing{kRecvBuffer, kByteType, 0, 0};
  NodeId done = kNoNode;
  int round = 0;
  for (int distance = 1; distance < s.size; distance *= 2, ++round) {
    const int to = (s.rank + distance) % s.size;
    const int from = (s.rank - distance + s.size) % s.size;
    const NodeId sent = with_level(b, b.send(to, nothing, round), round);
    const NodeId received = with_level(b, b.recv(from, nothing, round), round);
    b.connect(done, sent);
    const NodeId both = b.nop();
    b.connect(received, both);
    b.connect(done, both);
    done = both;
  }
}

constexpr Algorithm kBarrier[] = {
    {Coll::kBarrier, "tree", kNoRestriction,
     "up and down a tree that crosses between places as rarely as it can",
     barrier_tree<TreeKind::kPlacesFlat>},
    {Coll::kBarrier, "binomial", kNoRestriction, "up and down a binomial tree",
     barrier_tree<TreeKind::kBinomial>},
    {Coll::kBarrier, "knomial", kNoRestriction,
     "up and down a k-nomial tree, k by nbc.arity", barrier_tree<TreeKind::kKnomial>},
    {Coll::kBarrier, "linear", kNoRestriction, "all to rank 0 and back",
     barrier_tree<TreeKind::kFlat>},
    {Coll::kBarrier, "dissemination", kNoRestriction,
     "log2(n) rounds, each rank signals rank + 2^k", barrier_dissemination},
};

}  // namespace

std::span<const Algorithm> barrier_algorithms() { return kBarrier; }

}  // namespace mpc::nbc
