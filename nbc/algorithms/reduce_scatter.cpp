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

BufferRef whole_contribution(const Shape& s, const Blocks& blocks) {
  return elements(s.is_in_place ? kRecvBuffer : kSendBuffer, kRecvType, s.recv_type, 0,
                  blocks.all());
}

// A reduce to rank 0, then a scatter.
void reduce_scatter_tree(B& b, const Shape& s) {
  const Blocks blocks(s);
  const Tree tree = make_tree(TreeKind::kBinomial, s.rank, s.size, 0, {});
  const BufferRef mine = whole_contribution(s, blocks);
  const BufferRef target =
      elements(kRecvBuffer, kRecvType, s.recv_type, 0, blocks.count(s.rank));
  BufferRef whole{};
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

// Every rank sends block i to rank i, which reduces what it receives in rank order: each byte is
// moved once, and all ranks reduce at the same time.
void reduce_scatter_linear(B& b, const Shape& s) {
  const Blocks blocks(s);
  const int n = s.size;
  const BufferRef mine = whole_contribution(s, blocks);
  auto block = [&](int i) {
    return part(mine, s.recv_type, blocks.first(i), blocks.count(i));
  };
  const BufferRef target =
      elements(kRecvBuffer, kRecvType, s.recv_type, 0, blocks.count(s.rank));
  std::vector<NodeId> sends;
  for (int i = 1; i < n; ++i) {
    const int to = (s.rank + i) % n;
    if (blocks.count(to) > 0) sends.push_back(b.send(to, block(to)));
  }
  if (target.count == 0) return;
  // Rank order: value = r0 op r1 op ... The accumulator moves on to each value that arrives, so the
  // user's contribution is only read. The last value is received in the result's place, unless the
  // contribution is there.
  Value value{};
  for (int i = 0; i < n; ++i) {
    Value next{block(i)};
    const bool is_last = i == n - 1;
    if (i != s.rank) {
      next.ref = is_last && !s.is_in_place
                     ? target
                     : typed_scratch(b, kRecvType, s.recv_type, target.count);
      next.ready = b.recv(i, next.ref);
    } else if (i > 0) {
      const BufferRef own =
          is_last && !s.is_in_place
              ? target
              : typed_scratch(b, kRecvType, s.recv_type, target.count);
      next = {own, b.copy(block(i), own)};
    }
    if (i == 0) {
      value = next;
      continue;
    }
    const NodeId reduced = b.reduce(value.ref, next.ref);
    b.connect(value.ready, reduced);
    b.connect(next.ready, reduced);
    value = {next.ref, reduced};
  }
  if (value.ref.slot == target.slot && value.ref.offset == target.offset) return;
  const NodeId copied = after(b, value.ready, b.copy(value.ref, target));
  if (s.is_in_place)
    for (NodeId node : sends) b.connect(node, copied);
}

// Recursive halving over whole blocks, farthest partner first, so that a rank ends with its own
// block (and that of a folded partner). The ranks that are summed up are not consecutive: for
// commutative operations.
// Long: fold, halving and unfolding share the blocks that a rank still has.
void reduce_scatter_halving(B& b, const Shape& s) {
  const Blocks blocks(s);
  const Fold fold(s.size);
  const BufferRef mine = whole_contribution(s, blocks);
  const BufferRef target =
      elements(kRecvBuffer, kRecvType, s.recv_type, 0, blocks.count(s.rank));
  if (fold.is_out(s.rank)) {
    const NodeId sent = b.send(s.rank - 1, mine, kFoldTag);
    if (target.count == 0) return;
    const NodeId received = b.recv(s.rank - 1, target, kUnfoldTag);
    if (s.is_in_place) b.connect(sent, received);
    return;
  }
  Value value{mine};
  if (s.rank < 2 * fold.extra) {
    const BufferRef other = typed_scratch(b, kRecvType, s.recv_type, blocks.all());
    const NodeId received = b.recv(s.rank + 1, other, kFoldTag);
    value = {other, after(b, received, b.reduce(mine, other))};
  }
  const int v = fold.folded(s.rank);
  // First element of the blocks of the folded rank u; its blocks begin where those of u - 1 end.
  auto first = [&](int u) {
    return u == fold.pow2 ? blocks.all() : blocks.first(fold.unfolded(u));
  };
  std::vector<NodeId> sends;
  int low = 0, high = fold.pow2;
  for (int distance = fold.pow2 / 2, round = 0; distance > 0; distance /= 2, ++round) {
    const int partner = fold.unfolded(v ^ distance), middle = low + distance;
    const bool am_lower = (v & distance) == 0;
    const int keep_low = am_lower ? low : middle, keep_high = am_lower ? middle : high;
    const int give_low = am_lower ? middle : low, give_high = am_lower ? high : middle;
    auto within = [&](int from, int to) {
      return part(value.ref, s.recv_type, first(from) - first(low),
                  first(to) - first(from));
    };
    const BufferRef given = within(give_low, give_high),
                    kept = within(keep_low, keep_high);
    if (given.count > 0)
      sends.push_back(
          after(b, value.ready, with_level(b, b.send(partner, given, round), round)));
    Value half{kept, value.ready};
    if (kept.count > 0) {
      const BufferRef other = typed_scratch(b, kRecvType, s.recv_type, kept.count);
      const NodeId received = with_level(b, b.recv(partner, other, round), round);
      const bool is_own = kept.slot == kScratch;
      const NodeId reduced = is_own ? b.reduce(other, kept) : b.reduce(kept, other);
      b.connect(received, reduced);
      b.connect(value.ready, reduced);
      half = {is_own ? kept : other, reduced};
    }
    value = half;
    low = keep_low;
    high = keep_high;
  }
  if (target.count > 0) {
    const NodeId copied = after(
        b, value.ready, b.copy(part(value.ref, s.recv_type, 0, target.count), target));
    if (s.is_in_place)
      for (NodeId node : sends) b.connect(node, copied);
  }
  if (s.rank < 2 * fold.extra && blocks.count(s.rank + 1) > 0)
    after(b, value.ready,
          b.send(s.rank + 1,
                 part(value.ref, s.recv_type, target.count, blocks.count(s.rank + 1)),
                 kUnfoldTag));
}

// Block i travels once round the ring, from rank i + 1 to rank i, and each rank adds its part. For
// commutative operations.
void reduce_scatter_ring(B& b, const Shape& s) {
  const Blocks blocks(s);
  const int n = s.size, right = (s.rank + 1) % n, left = (s.rank - 1 + n) % n;
  const BufferRef mine = whole_contribution(s, blocks);
  auto block = [&](int i) {
    return part(mine, s.recv_type, blocks.first(i), blocks.count(i));
  };
  const BufferRef target =
      elements(kRecvBuffer, kRecvType, s.recv_type, 0, blocks.count(s.rank));
  TagStream sends(0, 1000), recvs(0, 1000);
  int sent = 0, received = 0;
  std::vector<NodeId> readers;  // nodes that read the contribution
  Value value{block(left)};
  for (int step = 0; step < n - 1; ++step) {
    if (value.ref.count > 0) {
      const NodeId node = b.send(right, value.ref, sends.tag(sent++));
      sends.add(b, node);
      b.connect(value.ready, node);
      if (step == 0) readers.push_back(node);
    }
    const int in = (s.rank - 2 - step + 2 * n) % n;
    value = {block(in)};
    if (value.ref.count == 0) continue;
    const BufferRef other =
        in == s.rank && !s.is_in_place
            ? target
            : typed_scratch(b, kRecvType, s.recv_type, blocks.count(in));
    const NodeId node = b.recv(left, other, recvs.tag(received++));
    recvs.add(b, node);
    value = {other, after(b, node, b.reduce(block(in), other))};
    readers.push_back(value.ready);
  }
  if (!s.is_in_place || target.count == 0) return;
  const NodeId copied = b.copy(value.ref, target);
  for (NodeId node : readers) b.connect(node, copied);
}

void reduce_scatter_homes(B& b, const Shape& s) {
  if (s.homes != nullptr) return reduce_scatter_nested(b, s);
  reduce_scatter_tree(b, s);
}
void reduce_scatter_two_level(B& b, const Shape& s) {
  if (s.homes != nullptr && regions_of_reduction(s) != nullptr)
    return reduce_scatter_regions(b, s);
  reduce_scatter_linear(b, s);
}

constexpr Algorithm kReduceScatter[] = {
    {Coll::kReduceScatterBlock, "reduce_scatter", kNoRestriction,
     "binomial reduce to rank 0, then a scatter", reduce_scatter_tree},
    {Coll::kReduceScatterBlock, "linear", kNoRestriction,
     "block i straight to rank i, which reduces", reduce_scatter_linear},
    {Coll::kReduceScatterBlock, "tree", kNoRestriction,
     "up and down a tree over processes; reduce_scatter in one process",
     reduce_scatter_homes},
    {Coll::kReduceScatterBlock, "two_level", kNoRestriction,
     "block i of each process straight to rank i; linear in one process",
     reduce_scatter_two_level},
    {Coll::kReduceScatterBlock, "halving", kCommutativeOnly,
     "recursive halving over the blocks", reduce_scatter_halving},
    {Coll::kReduceScatterBlock, "ring", kCommutativeOnly,
     "each block once round a ring", reduce_scatter_ring},
    {Coll::kReduceScatter, "reduce_scatter", kNoRestriction,
     "binomial reduce to rank 0, then a scatter", reduce_scatter_tree},
    {Coll::kReduceScatter, "linear", kNoRestriction,
     "block i straight to rank i, which reduces", reduce_scatter_linear},
    {Coll::kReduceScatter, "tree", kNoRestriction,
     "up and down a tree over processes; reduce_scatter in one process",
     reduce_scatter_homes},
    {Coll::kReduceScatter, "two_level", kNoRestriction,
     "block i of each process straight to rank i; linear in one process",
     reduce_scatter_two_level},
    {Coll::kReduceScatter, "halving", kCommutativeOnly,
     "recursive halving over the blocks", reduce_scatter_halving},
    {Coll::kReduceScatter, "ring", kCommutativeOnly, "each block once round a ring",
     reduce_scatter_ring},
};

}  // namespace

std::span<const Algorithm> reduce_scatter_algorithms() { return kReduceScatter; }

}  // namespace mpc::nbc
