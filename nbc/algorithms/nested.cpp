// Gather, scatter and allgather over hosts, processes and workers: blocks travel packed between
// processes, in one message per process.
// for each of them.
#include "nbc/algorithms/nest.h"
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

// If a process has at least so many bytes, its leader sends them directly to the root: passing them
// on takes the time of the links again.
constexpr int64_t kStraightBytes = 8 << 10;

// In a blocking call the ranks of a worker are flat: their core has nothing better to do than their
// leader's work. A tree that may be split needs levels.
NestForm form_of(const Shape& s) {
  return {!s.is_nonblocking,
          block_bytes(s) * s.homes->most_in_process() > kStraightBytes};
}

// The root's data for ranks first .. first + count - 1.
BufferRef blocks(const Shape& s, int first, int count) {
  return traits_of(s.coll).root == RootRole::kSends
             ? elements(kSendBuffer, kSendType, s.send_type, first * s.send_count,
                        count * s.send_count)
             : elements(kRecvBuffer, kRecvType, s.recv_type, first * s.recv_count,
                        count * s.recv_count);
}

// Consecutive ranks of a subtree; `at`: where they begin in it.
struct Run {
  int first, count, at;
};
std::vector<Run> runs_of(const std::vector<int>& order, const TreeChild& child) {
  std::vector<Run> runs;
  for (int i = 0; i < child.count; ++i) {
    const int place = child.first + i;
    const int rank = order[static_cast<size_t>(place)];
    if (!runs.empty() && runs.back().first + runs.back().count == rank)
      ++runs.back().count;
    else
      runs.push_back({rank, 1, i});
  }
  return runs;
}

BufferRef own_block(const Shape& s) {
  if (traits_of(s.coll).root == RootRole::kSends)
    return elements(kRecvBuffer, kRecvType, s.recv_type, 0, s.recv_count);
  if (s.is_in_place) return blocks(s, s.rank, 1);
  return elements(kSendBuffer, kSendType, s.send_type, 0, s.send_count);
}

// At the root: receives from one child, and moves the blocks
// to where they belong; `done` comes after.
void gather_child(B& b, const Shape& s, const Tree& tree, const std::vector<int>& order,
                  const TreeChild& child, NodeId done) {
  const std::vector<Run> runs = runs_of(order, child);
  if (runs.size() == 1) {
    const BufferRef there = blocks(s, runs[0].first, runs[0].count);
    const NodeId received = on_edge(b, tree, b.recv(child.rank, there), child.level);
    if (done != kNoNode) b.connect(received, done);
    return;
  }
  const int64_t block = block_bytes(s);
  const BufferRef data = byte_scratch(b, child.count * block);
  const NodeId received = on_edge(b, tree, b.recv(child.rank, data), child.level);
  for (const Run& run : runs) {
    const BufferRef from = bytes_at(data, run.at * block, run.count * block);
    const NodeId copied = b.copy(from, blocks(s, run.first, run.count));
    after(b, received, on_edge(b, tree, copied, child.level));
    if (done != kNoNode) b.connect(copied, done);
  }
}

// All blocks go to the root; `done` comes after they have arrived. Returns the node that reads this
// rank's own block, unless this is the root.
NodeId gather_up(B& b, const Shape& s, const Tree& tree, int root, NodeId done) {
  if (tree.parent < 0) {
    const std::vector<int> order = s.homes->outside().order(root);
    for (const TreeChild& child : tree.children)
      gather_child(b, s, tree, order, child, done);
    if (s.is_in_place) return kNoNode;
    const NodeId own = on_edge(b, tree, b.copy(own_block(s), blocks(s, s.rank, 1)), 0);
    if (done != kNoNode) b.connect(own, done);
    return kNoNode;
  }
  if (tree.children.empty())
    return on_edge(b, tree, b.send(tree.parent, own_block(s)), tree.level);
  const int64_t block = block_bytes(s);
  const BufferRef all = byte_scratch(b, block * tree.span);
  const NodeId sent = on_edge(b, tree, b.send(tree.parent, all), tree.level);
  const NodeId own = b.copy(own_block(s), bytes_at(all, 0, block));
  b.connect(on_edge(b, tree, own, tree.level), sent);
  for (const TreeChild& child : tree.children) {
    const BufferRef data = bytes_at(all, child.first * block, child.count * block);
    b.connect(on_edge(b, tree, b.recv(child.rank, data), child.level), sent);
  }
  return own;
}

void scatter_child(B& b, const Shape& s, const Tree& tree,
                   const std::vector<int>& order, const TreeChild& child) {
  const std::vector<Run> runs = runs_of(order, child);
  if (runs.size() == 1) {
    const BufferRef there = blocks(s, runs[0].first, runs[0].count);
    on_edge(b, tree, b.send(child.rank, there), child.level);
    return;
  }
  const int64_t block = total_bytes(s.send_count, s.send_type);
  const BufferRef data = byte_scratch(b, child.count * block);
  const NodeId sent = on_edge(b, tree, b.send(child.rank, data), child.level);
  for (const Run& run : runs) {
    const BufferRef to = bytes_at(data, run.at * block, run.count * block);
    const NodeId copied = b.copy(blocks(s, run.first, run.count), to);
    b.connect(on_edge(b, tree, copied, child.level), sent);
  }
}

}  // namespace

Tree nested_tree(const Shape& s) {
  Tree tree = s.homes->outside().tree(s.rank, s.root, form_of(s));
  if (s.split > 0) tree.application_level = std::max(0, tree.height - s.split);
  return tree;
}

void gather_nested(B& b, const Shape& s) {
  gather_up(b, s, nested_tree(s), s.root, kNoNode);
}

void allgather_nested(B& b, const Shape& s) {
  const Tree up = s.homes->outside().tree(s.rank, 0, form_of(s));
  const int64_t bytes = block_bytes(s) * s.size;
  const Tree down = shape_tree(fit_tree(TreeKind::kPlaces, s, bytes), s, 0);
  const NodeId done = up.parent < 0 ? b.nop() : kNoNode;
  const NodeId own_read = gather_up(b, s, up, 0, done);
  // With MPI_IN_PLACE the own block must have left the buffer before the whole result arrives.
  const NodeId guard = up.parent < 0 ? done : s.is_in_place ? own_read : kNoNode;
  bcast_down(b, down, blocks(s, 0, s.size), guard, 1);
}

void scatter_nested(B& b, const Shape& s) {
  const Tree tree = nested_tree(s);
  if (tree.parent < 0) {
    const std::vector<int> order = s.homes->outside().order(s.root);
    for (size_t i = tree.children.size(); i-- > 0;)
      scatter_child(b, s, tree, order, tree.children[i]);
    if (!s.is_in_place) on_edge(b, tree, b.copy(blocks(s, s.rank, 1), own_block(s)), 0);
    return;
  }
  if (tree.children.empty()) {
    on_edge(b, tree, b.recv(tree.parent, own_block(s)), tree.level);
    return;
  }
  const int64_t block = total_bytes(s.recv_count, s.recv_type);
  const BufferRef all = byte_scratch(b, block * tree.span);
  const NodeId received = on_edge(b, tree, b.recv(tree.parent, all), tree.level);
  for (size_t i = tree.children.size(); i-- > 0;) {
    const TreeChild& child = tree.children[i];
    const BufferRef data = bytes_at(all, child.first * block, child.count * block);
    after(b, received, on_edge(b, tree, b.send(child.rank, data), child.level));
  }
  const NodeId own = b.copy(bytes_at(all, 0, block), own_block(s));
  after(b, received, on_edge(b, tree, own, tree.level));
}

}  // namespace mpc::nbc
