// Reduce and allreduce.
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

// --- reduce ---------------------------------------------------------------------------------

// Elements [first, first + count) go up the tree. Where rank order matters the tree has root 0,
// which hands the result to the call's root.
void reduce_part(B& b, const Shape& s, TreeKind kind, Count first, Count count,
                 int tag) {
  const bool shifted = s.is_commutative || s.root == 0;
  const int top = shifted ? s.root : 0;
  const Tree tree = split_tree(kind, s, top);
  const BufferRef mine = part(contribution(s), s.recv_type, first, count);
  const BufferRef target = part(result(s), s.recv_type, first, count);
  const bool is_writable = s.is_in_place && s.rank == s.root;
  if (shifted) {
    reduce_up(b, s, tree, {mine}, is_writable, &target, tag);
    return;
  }
  const BufferRef top_result =
      s.rank == top ? typed_scratch(b, kRecvType, s.recv_type, count) : target;
  const NodeId up = reduce_up(b, s, tree, {mine}, false, &top_result, tag);
  if (s.rank == top) after(b, up, on_edge(b, tree, b.send(s.root, top_result, tag), 0));
  // With MPI_IN_PLACE the root's contribution leaves its buffer before the result arrives.
  if (s.rank == s.root) after(b, up, on_edge(b, tree, b.recv(top, target, tag), 0));
}

template <TreeKind kind>
void reduce_tree(B& b, const Shape& s) {
  const TreeKind fit = fit_tree(kind, s, total_bytes(s.recv_count, s.recv_type));
  reduce_part(b, s, fit, 0, s.recv_count, 0);
}

template <TreeKind kind>
void reduce_segmented(B& b, const Shape& s) {
  const Chunks chunks = segments(s);
  for (int i = 0; i < chunks.parts; ++i)
    reduce_part(b, s, kind, chunks.first(i), chunks.size(i, i + 1), i);
}

// --- allreduce ------------------------------------------------------------------------------

// Elements [first, first + count) go up and down the tree, with the tags `tag` and `tag` + 1.
void allreduce_part(B& b, const Shape& s, const Tree& tree, Count first, Count count,
                    int tag) {
  const BufferRef mine = part(contribution(s), s.recv_type, first, count);
  const BufferRef target = part(result(s), s.recv_type, first, count);
  const NodeId up = reduce_up(b, s, tree, {mine}, s.is_in_place, &target, tag);
  // With MPI_IN_PLACE the contribution must have left the buffer before the result enters it.
  const bool is_free = tree.parent >= 0 && !s.is_in_place;
  bcast_down(b, tree, target, is_free ? kNoNode : up, tag + 1);
}

template <TreeKind kind>
void allreduce_tree(B& b, const Shape& s) {
  const TreeKind fit = fit_tree(kind, s, total_bytes(s.recv_count, s.recv_type));
  allreduce_part(b, s, split_tree(fit, s, 0), 0, s.recv_count, 0);
}

template <TreeKind kind>
void allreduce_segmented(B& b, const Shape& s) {
  const Tree tree = split_tree(kind, s, 0);
  const Chunks chunks = segments(s);
  for (int i = 0; i < chunks.parts; ++i)
    allreduce_part(b, s, tree, chunks.first(i), chunks.size(i, i + 1), 2 * i);
}

// A folded rank sends its contribution to its partner and receives the result.
void folded_out(B& b, const Shape& s) {
  const NodeId sent = b.send(s.rank - 1, contribution(s), kFoldTag);
  const NodeId received = b.recv(s.rank - 1, result(s), kUnfoldTag);
  if (s.is_in_place) b.connect(sent, received);
}

// This rank's value combined with that of its folded partner, if it has one.
Value folded_in(B& b, const Shape& s, const Fold& fold) {
  const BufferRef mine = contribution(s);
  if (s.rank >= 2 * fold.extra) return {mine};
  const BufferRef other = typed_scratch(b, kRecvType, s.recv_type, s.recv_count);
  const NodeId received = b.recv(s.rank + 1, other, kFoldTag);
  return {other, after(b, received, b.reduce(mine, other))};
}

// Exchange of the whole vector with rank ^ 2^k. Both partners combine in rank order, so every
// rank gets bitwise the same result.
void allreduce_recursive_doubling(B& b, const Shape& s) {
  const Fold fold(s.size);
  if (fold.is_out(s.rank)) return folded_out(b, s);
  Value value = folded_in(b, s, fold);
  const int v = fold.folded(s.rank);
  bool is_users = value.ref.slot != kScratch;
  int round = 0;
  for (int distance = 1; distance < fold.pow2; distance *= 2, ++round) {
    const int partner = fold.unfolded(v ^ distance);
    const bool am_lower = (v & distance) == 0;
    if (!am_lower &&
        is_users) {  // the reduction writes to this side's value, so copy it
      const BufferRef own = typed_scratch(b, kRecvType, s.recv_type, s.recv_count);
      value = {own, b.copy(value.ref, own)};
      is_users = false;
    }
    const BufferRef other = typed_scratch(b, kRecvType, s.recv_type, s.recv_count);
    const NodeId sent =
        after(b, value.ready, with_level(b, b.send(partner, value.ref, round), round));
    const NodeId received = with_level(b, b.recv(partner, other, round), round);
    const NodeId reduced = with_level(
        b, am_lower ? b.reduce(value.ref, other) : b.reduce(other, value.ref), round);
    b.connect(received, reduced);
    b.connect(value.ready, reduced);
    if (!am_lower) b.connect(sent, reduced);  // it overwrites what is being sent
    // With MPI_IN_PLACE the user's buffer is overwritten only at the end, after the send, too.
    if (am_lower && is_users) b.connect(sent, reduced);
    if (am_lower) value.ref = other;
    value.ready = reduced;
    is_users = false;
  }
  const BufferRef target = result(s);
  const bool is_there = value.ref.slot == target.slot;
  const NodeId done =
      is_there ? value.ready : after(b, value.ready, b.copy(value.ref, target));
  if (s.rank < 2 * fold.extra) after(b, done, b.send(s.rank + 1, target, kUnfoldTag));
}

// A rank's state after recursive halving: the sum over all ranks of the chunks [low, high).
struct Halved {
  Value value;  // begins with the first element of these chunks
  int low, high;
  int rounds;
  NodeId whole_ready;          // the node that was complete before the first halving
  std::vector<NodeId> halves;  // the sends, one per round
};

// Neighbours first, so that a rank always holds the sum of consecutive ranks: fit for any
// operation. `s.is_in_place`: the receive buffer may be overwritten.
Halved halve(B& b, const Shape& s, const Fold& fold, const Chunks& chunks) {
  const int v = fold.folded(s.rank);
  const Value whole = folded_in(b, s, fold);
  Value value = whole;
  bool is_users = whole.ref.slot == kSendBuffer;
  int low = 0, high = fold.pow2, round = 0;
  std::vector<NodeId> halves;
  for (int distance = 1; distance < fold.pow2; distance *= 2, ++round) {
    const int partner = fold.unfolded(v ^ distance);
    const bool am_lower = (v & distance) == 0;
    const int middle = (low + high) / 2;
    const int keep_low = am_lower ? low : middle, keep_high = am_lower ? middle : high;
    const int give_low = am_lower ? middle : low, give_high = am_lower ? high : middle;
    const Count kept = chunks.size(keep_low, keep_high);
    const Count given = chunks.size(give_low, give_high);
    auto within = [&](int chunk, Count count) {
      return part(value.ref, s.recv_type, chunks.size(low, chunk), count);
    };
    NodeId sent = kNoNode;
    if (given > 0)
      sent =
          after(b, value.ready,
                with_level(b, b.send(partner, within(give_low, given), round), round));
    halves.push_back(sent);
    Value half{within(keep_low, kept), value.ready};
    if (kept > 0) {
      const BufferRef other = typed_scratch(b, kRecvType, s.recv_type, kept);
      const NodeId received = with_level(b, b.recv(partner, other, round), round);
      const bool into_own = !is_users && (s.is_commutative || !am_lower);
      if (!into_own && !am_lower && !s.is_commutative) {
        const BufferRef own = typed_scratch(b, kRecvType, s.recv_type, kept);
        half = {own, after(b, half.ready, b.copy(half.ref, own))};
      }
      const bool to_half = into_own || (!am_lower && !s.is_commutative);
      const NodeId reduced = with_level(
          b, to_half ? b.reduce(other, half.ref) : b.reduce(half.ref, other), round);
      b.connect(received, reduced);
      b.connect(half.ready, reduced);
      half = {to_half ? half.ref : other, reduced};
      is_users = false;
    }
    value = half;
    low = keep_low;
    high = keep_high;
  }
  return {value, low, high, round, whole.ready, std::move(halves)};
}

// Recursive halving, then recursive doubling on the pieces (Rabenseifner).
void allreduce_halving(B& b, const Shape& s) {
  const Fold fold(s.size);
  if (fold.is_out(s.rank)) return folded_out(b, s);
  const Chunks chunks{s.recv_count, fold.pow2};
  const BufferRef target = result(s);
  const int v = fold.folded(s.rank);
  Halved mine = halve(b, s, fold, chunks);
  Value& value = mine.value;
  int low = mine.low, high = mine.high, round = mine.rounds;
  // The piece is moved to its place; then pieces are exchanged, farthest partner first.
  auto in_target = [&](int from, int to) {
    return part(target, s.recv_type, chunks.first(from), chunks.size(from, to));
  };
  const BufferRef home = in_target(low, high);
  std::vector<NodeId> have;
  if (home.count > 0 &&
      (value.ref.slot != home.slot || value.ref.offset != home.offset))
    value.ready = after(b, value.ready, b.copy(value.ref, home));
  have.push_back(value.ready);
  for (int distance = fold.pow2 / 2; distance > 0; distance /= 2) {
    --round;
    const int partner = fold.unfolded(v ^ distance);
    const bool am_lower = (v & distance) == 0;
    const int other_low = am_lower ? high : low - (high - low);
    const int other_high = other_low + (high - low);
    const int tag = 100 + round;
    if (in_target(low, high).count > 0) {
      const NodeId sent =
          with_level(b, b.send(partner, in_target(low, high), tag), round);
      for (NodeId node : have) b.connect(node, sent);
    }
    if (in_target(other_low, other_high).count > 0) {
      const NodeId received =
          with_level(b, b.recv(partner, in_target(other_low, other_high), tag), round);
      if (s.is_in_place) {  // its old content has been read
        b.connect(mine.halves[static_cast<size_t>(round)], received);
        b.connect(mine.whole_ready, received);
      }
      have.push_back(received);
    }
    low = std::min(low, other_low);
    high = std::max(high, other_high);
  }
  if (s.rank < 2 * fold.extra) {
    const NodeId sent = b.send(s.rank + 1, target, kUnfoldTag);
    for (NodeId node : have) b.connect(node, sent);
  }
}

// Recursive halving, then the pieces are gathered along the same pairs, farthest first
// (Rabenseifner): of two partners the one nearer to the root continues. A root that was folded
// gets the result from its partner, which replaces it.
// Long: the way back up uses what the way down has left at each level.
void reduce_halving(B& b, const Shape& s) {
  const Fold fold(s.size);
  const bool is_root = s.rank == s.root;
  if (fold.is_out(s.rank)) {
    if (is_root) return folded_out(b, s);
    b.send(s.rank - 1, contribution(s), kFoldTag);
    return;
  }
  const Chunks chunks{s.recv_count, fold.pow2};
  const int v = fold.folded(s.rank);
  const int stand_in = fold.is_out(s.root) ? s.root - 1 : s.root;
  const int root_v = fold.folded(stand_in);
  Halved mine = halve(b, s, fold, chunks);
  Value& value = mine.value;
  int low = mine.low, high = mine.high, round = mine.rounds;
  const bool collects =
      (v ^ root_v) < fold.pow2 / 2;  // the others send their piece at once
  BufferRef whole{};
  if (collects)
    whole =
        is_root ? result(s) : typed_scratch(b, kRecvType, s.recv_type, s.recv_count);
  auto within = [&](int from, int to) {
    return part(whole, s.recv_type, chunks.first(from), chunks.size(from, to));
  };
  if (collects) {
    const BufferRef home = within(low, high);
    if (home.count > 0 &&
        (value.ref.slot != home.slot || value.ref.offset != home.offset))
      value.ready = after(b, value.ready, b.copy(value.ref, home));
    value.ref = home;
  }
  std::vector<NodeId> have{value.ready};
  for (int distance = fold.pow2 / 2; distance > 0; distance /= 2) {
    --round;
    const int partner = fold.unfolded(v ^ distance), tag = 100 + round;
    if (((v ^ root_v) & distance) != 0) {
      const BufferRef piece = collects ? within(low, high) : value.ref;
      if (piece.count == 0) return;
      const NodeId sent = with_level(b, b.send(partner, piece, tag), round);
      for (NodeId node : have) b.connect(node, sent);
      return;
    }
    const bool am_lower = (v & distance) == 0;
    const int other_low = am_lower ? high : low - (high - low);
    const BufferRef piece = within(other_low, other_low + (high - low));
    if (piece.count > 0) {
      const NodeId received = with_level(b, b.recv(partner, piece, tag), round);
      if (is_root && s.is_in_place) {  // its old content has been read
        b.connect(mine.halves[static_cast<size_t>(round)], received);
        b.connect(mine.whole_ready, received);
      }
      have.push_back(received);
    }
    const int length = high - low;
    low = std::min(low, other_low);
    high = low + 2 * length;
  }
  if (stand_in == s.root) return;
  const NodeId sent = b.send(s.root, whole, kUnfoldTag);
  for (NodeId node : have) b.connect(node, sent);
}

// Chunks travel round the ring twice: summed up, then distributed. For commutative operations.
void allreduce_ring(B& b, const Shape& s) {
  const int n = s.size;
  const Chunks chunks{s.recv_count, n};
  const int right = (s.rank + 1) % n, left = (s.rank - 1 + n) % n;
  auto at = [&](const BufferRef& array, int chunk) {
    return part(array, s.recv_type, chunks.first(chunk), chunks.size(chunk, chunk + 1));
  };
  const BufferRef mine = contribution(s), target = result(s);
  TagStream sends(0, 1000), recvs(0, 1000);
  int sent = 0, received = 0;
  std::vector<NodeId> passed(static_cast<size_t>(n),
                             kNoNode);  // sends of the first round
  Value value{at(mine, s.rank)};
  for (int step = 0; step < n - 1; ++step) {
    const int out = (s.rank - step + n) % n, in = (s.rank - step - 1 + n) % n;
    if (value.ref.count > 0) {
      const NodeId node = b.send(right, value.ref, sends.tag(sent++));
      sends.add(b, node);
      passed[static_cast<size_t>(out)] = after(b, value.ready, node);
    }
    value = {at(mine, in)};
    if (value.ref.count == 0) continue;
    // Not in place: received where the result will be, so the contribution stays untouched.
    const BufferRef other =
        s.is_in_place ? typed_scratch(b, kRecvType, s.recv_type, value.ref.count)
                      : at(target, in);
    const NodeId node = b.recv(left, other, recvs.tag(received++));
    recvs.add(b, node);
    value.ready =
        after(b, node,
              s.is_in_place ? b.reduce(other, value.ref) : b.reduce(value.ref, other));
    if (!s.is_in_place) value.ref = other;
  }
  for (int step = 0; step < n - 1; ++step) {
    const int in = (s.rank - step + n) % n;
    if (value.ref.count > 0) {
      const NodeId node = b.send(right, value.ref, sends.tag(sent++));
      sends.add(b, node);
      b.connect(value.ready, node);
    }
    value = {at(target, in)};
    if (value.ref.count == 0) continue;
    const NodeId node = b.recv(left, value.ref, recvs.tag(received++));
    recvs.add(b, node);
    b.connect(passed[static_cast<size_t>(in)], node);
    value.ready = node;
  }
}

using enum TreeKind;

constexpr Algorithm kReduce[] = {
    {Coll::kReduce, "binomial", kNoRestriction,
     "binomial tree, on rank 0 when rank order matters", reduce_tree<kBinomial>},
    {Coll::kReduce, "tree", kContiguousPlaces,
     "a tree that crosses between places as rarely as it can", reduce_tree<kPlaces>},
    {Coll::kReduce, "linear", kNoRestriction, "all to the root", reduce_tree<kFlat>},
    {Coll::kReduce, "knomial", kNoRestriction, "k-nomial tree, k by nbc.arity",
     reduce_tree<kKnomial>},
    {Coll::kReduce, "chain", kNoRestriction, "chain in segments",
     reduce_segmented<kChain>},
    {Coll::kReduce, "binomial_segmented", kNoRestriction, "binomial tree in segments",
     reduce_segmented<kBinomial>},
    {Coll::kReduce, "knomial_segmented", kNoRestriction, "k-nomial tree in segments",
     reduce_segmented<kKnomial>},
    {Coll::kReduce, "tree_segmented", kContiguousPlaces,
     "the tree of places in segments", reduce_segmented<kPlaces>},
    {Coll::kReduce, "halving", kNoRestriction,
     "recursive halving, then a gather of the pieces (Rabenseifner)", reduce_halving},
    {Coll::kAllreduce, "binomial", kNoRestriction, "up and down a binomial tree",
     allreduce_tree<kBinomial>},
    {Coll::kAllreduce, "knomial", kNoRestriction,
     "up and down a k-nomial tree, k by nbc.arity", allreduce_tree<kKnomial>},
    {Coll::kAllreduce, "tree", kContiguousPlaces,
     "up and down a tree that crosses between places as rarely as it can",
     allreduce_tree<kPlaces>},
    {Coll::kAllreduce, "chain", kNoRestriction, "up and down a chain in segments",
     allreduce_segmented<kChain>},
    {Coll::kAllreduce, "binomial_segmented", kNoRestriction,
     "up and down a binomial tree in segments", allreduce_segmented<kBinomial>},
    {Coll::kAllreduce, "knomial_segmented", kNoRestriction,
     "up and down a k-nomial tree in segments", allreduce_segmented<kKnomial>},
    {Coll::kAllreduce, "tree_segmented", kContiguousPlaces,
     "up and down the tree of places in segments", allreduce_segmented<kPlaces>},
    {Coll::kAllreduce, "recursive_doubling", kNoRestriction,
     "exchange of the whole vector with rank ^ 2^k", allreduce_recursive_doubling},
    {Coll::kAllreduce, "halving", kNoRestriction,
     "recursive halving, then doubling (Rabenseifner)", allreduce_halving},
    {Coll::kAllreduce, "ring", kCommutativeOnly, "n chunks round a ring, twice",
     allreduce_ring},
};

}  // namespace

std::span<const Algorithm> reduce_algorithms() { return kReduce; }

}  // namespace mpc::nbc
