// Reduce_scatter and reduce_scatter_block.
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

// Both forms as one: block i of the whole vector goes to rank i.
class Blocks {
 public:
  explicit Blocks(const Shape& s) : first_(static_cast<size_t>(s.size) + 1) {
    for (int i = 0; i < s.size; ++i) {
      const auto at = static_cast<size_t>(i);
      first_[at + 1] = first_[at] + (s.coll == Coll::kReduceScatter ? s.recv_counts[at]
                                                                    : s.recv_count);
    }
  }
  Count first(int i) const { return first_[static_cast<size_t>(i)]; }
  Count count(int i) const { return first(i + 1) - first(i); }
  Count all() const { return first_.back(); }

 private:
  std::vector<Count> first_;
};

Place whole_contribution(const Shape& s, const Blocks& blocks) {
  return elements(s.is_in_place ? kRecvBuffer : kSendBuffer, kRecvType, s.recv_type, 0,
                  blocks.all());
}

// A reduce to rank 0, then a scatter.
void reduce_scatter_tree(B& b, const Shape& s) {
  const Blocks blocks(s);
  const Tree tree = make_tree(TreeKind::kBinomial, s.rank, s.size, 0, {});
  const Place mine = whole_contribution(s, blocks);
  const Place target =
      elements(kRecvBuffer, kRecvType, s.recv_type, 0, blocks.count(s.rank));
  Place whole{};
  if (s.rank == 0) whole = typed_scratch(b, kRecvType, s.recv_type, blocks.all());
  const NodeId up =
      reduce_up(b, s, tree, {mine}, false, s.rank == 0 ? &whole : nullptr, 0);
  if (s.rank != 0) {
    if (target.count == 0) return;
    const NodeId received = b.recv(0, target, 1);
    if (s.is_in_place) b.connect(up, received);
    return;
  }
  for (int i = 1; i < s.size; ++i)
    if (blocks.count(i) > 0)
      after(b, up,
            b.send(i, part(whole, s.recv_type, blocks.first(i), blocks.count(i)), 1));
  if (target.count > 0)
    after(b, up, b.copy(part(whole, s.recv_type, 0, target.count), target));
}

// Everyone sends block i to rank i, which reduces what it gets in rank order: each byte is
// moved once, and all ranks reduce at the same time.
void reduce_scatter_linear(B& b, const Shape& s) {
  const Blocks blocks(s);
  const int n = s.size;
  const Place mine = whole_contribution(s, blocks);
  auto block = [&](int i) {
    return part(mine, s.recv_type, blocks.first(i), blocks.count(i));
  };
  const Place target =
      elements(kRecvBuffer, kRecvType, s.recv_type, 0, blocks.count(s.rank));
  std::vector<NodeId> sends;
  for (int i = 1; i < n; ++i) {
    const int to = (s.rank + i) % n;
    if (blocks.count(to) > 0) sends.push_back(b.send(to, block(to)));
  }
  if (target.count == 0) return;
  // Rank order: value = r0 op r1 op ... The accumulator moves on to each newcomer, so that the
  // user's contribution is only read; the last newcomer is received in the result's place
  // unless the contribution is there.
  Value value{};
  for (int i = 0; i < n; ++i) {
    Value next{block(i)};
    const bool is_last = i == n - 1;
    if (i != s.rank) {
      next.place = is_last && !s.is_in_place
                       ? target
                       : typed_scratch(b, kRecvType, s.recv_type, target.count);
      next.ready = b.recv(i, next.place);
    } else if (i > 0) {
      const Place own = is_last && !s.is_in_place
                            ? target
                            : typed_scratch(b, kRecvType, s.recv_type, target.count);
      next = {own, b.copy(block(i), own)};
    }
    if (i == 0) {
      value = next;
      continue;
    }
    const NodeId reduced = b.reduce(value.place, next.place);
    b.connect(value.ready, reduced);
    b.connect(next.ready, reduced);
    value = {next.place, reduced};
  }
  if (value.place.slot == target.slot && value.place.offset == target.offset) return;
  const NodeId copied = after(b, value.ready, b.copy(value.place, target));
  if (s.is_in_place)
    for (NodeId node : sends) b.connect(node, copied);
}

constexpr Algorithm kReduceScatter[] = {
    {Coll::kReduceScatterBlock, "reduce_scatter", kNoRestriction,
     "binomial reduce to rank 0, then a scatter", reduce_scatter_tree},
    {Coll::kReduceScatterBlock, "linear", kNoRestriction,
     "block i straight to rank i, which reduces", reduce_scatter_linear},
    {Coll::kReduceScatter, "reduce_scatter", kNoRestriction,
     "binomial reduce to rank 0, then a scatter", reduce_scatter_tree},
    {Coll::kReduceScatter, "linear", kNoRestriction,
     "block i straight to rank i, which reduces", reduce_scatter_linear},
};

}  // namespace

std::span<const Algorithm> reduce_scatter_algorithms() { return kReduceScatter; }

}  // namespace mpc::nbc
