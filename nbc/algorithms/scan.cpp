// Scan and exscan.
#include "nbc/algorithms/nest.h"
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

// Elements [first, first + count) travel along the chain of ranks.
void scan_part(B& b, const Shape& s, Count first, Count count, int tag) {
  const BufferRef target = part(result(s), s.recv_type, first, count);
  const BufferRef mine = part(contribution(s), s.recv_type, first, count);
  NodeId ready = s.is_in_place ? kNoNode : b.copy(mine, target);
  if (s.rank > 0) {
    const BufferRef before = typed_scratch(b, kRecvType, s.recv_type, count);
    const NodeId received = b.recv(s.rank - 1, before, tag);
    const NodeId reduced = b.reduce(before, target);
    b.connect(ready, reduced);
    ready = after(b, received, reduced);
  }
  if (s.rank + 1 < s.size) after(b, ready, b.send(s.rank + 1, target, tag));
}

void exscan_part(B& b, const Shape& s, Count first, Count count, int tag) {
  const BufferRef target = part(result(s), s.recv_type, first, count);
  const BufferRef mine = part(contribution(s), s.recv_type, first, count);
  const bool is_last = s.rank + 1 == s.size;
  if (s.rank == 0) {
    if (!is_last) b.send(1, mine, tag);
    return;
  }
  if (is_last) {
    b.recv(s.rank - 1, target, tag);
    return;
  }
  const BufferRef other = typed_scratch(b, kRecvType, s.recv_type, count);
  if (!s.is_in_place) {
    const NodeId received = b.recv(s.rank - 1, target, tag);
    const NodeId copied = b.copy(mine, other);
    const NodeId reduced = after(b, received, b.reduce(target, other));
    b.connect(copied, reduced);
    after(b, reduced, b.send(s.rank + 1, other, tag));
    return;
  }
  const NodeId received = b.recv(s.rank - 1, other, tag);
  const NodeId reduced = after(b, received, b.reduce(other, target));
  const NodeId sent = after(b, reduced, b.send(s.rank + 1, target, tag));
  after(b, sent, b.copy(other, target));
}

void scan_linear(B& b, const Shape& s) { scan_part(b, s, 0, s.recv_count, 0); }
void exscan_linear(B& b, const Shape& s) { exscan_part(b, s, 0, s.recv_count, 0); }

void scan_chain(B& b, const Shape& s) {
  const Chunks chunks = segments(s);
  for (int i = 0; i < chunks.parts; ++i)
    (s.coll == Coll::kScan ? scan_part : exscan_part)(b, s, chunks.first(i),
                                                      chunks.size(i, i + 1), i);
}

// Step k: the sum of the last 2^k ranks goes to rank + 2^k.
void scan_doubling(B& b, const Shape& s) {
  const bool is_exclusive = s.coll == Coll::kExscan;
  const BufferRef target = result(s), mine = contribution(s);
  // `sum`: of the ranks (rank - distance, rank]. `before`: of all ranks below this one.
  Value sum{mine}, before{};
  bool has_before = false, sum_is_users = true;
  int step = 0;
  for (int distance = 1; distance < s.size; distance *= 2, ++step) {
    NodeId sent = kNoNode;
    if (s.rank + distance < s.size)
      sent = after(b, sum.ready,
                   with_level(b, b.send(s.rank + distance, sum.ref, step), step));
    if (s.rank < distance) continue;
    const BufferRef other = typed_scratch(b, kRecvType, s.recv_type, s.recv_count);
    const NodeId received = with_level(b, b.recv(s.rank - distance, other, step), step);
    if (is_exclusive) {
      if (!has_before) {
        const BufferRef own = typed_scratch(b, kRecvType, s.recv_type, s.recv_count);
        before = {own, after(b, received, b.copy(other, own))};
        has_before = true;
      } else {
        const NodeId reduced = after(b, received, b.reduce(other, before.ref));
        b.connect(before.ready, reduced);
        before.ready = reduced;
      }
    }
    if (sum_is_users) {
      const BufferRef own = typed_scratch(b, kRecvType, s.recv_type, s.recv_count);
      sum = {own, after(b, sum.ready, b.copy(sum.ref, own))};
      sum_is_users = false;
    }
    const NodeId reduced = after(b, received, b.reduce(other, sum.ref));
    b.connect(sum.ready, reduced);
    b.connect(sent, reduced);
    sum.ready = reduced;
  }
  const Value value = is_exclusive ? before : sum;
  if (is_exclusive && !has_before) return;
  const bool is_there = value.ref.slot == target.slot;
  if (is_there) return;
  const NodeId copied = after(b, value.ready, b.copy(value.ref, target));
  if (is_exclusive) b.connect(sum.ready, copied);  // the contribution has been read
}

void scan_two_level(B& b, const Shape& s) {
  if (s.homes != nullptr && s.homes->rows() != nullptr) return scan_regions(b, s);
  scan_doubling(b, s);
}
void scan_tree(B& b, const Shape& s) {
  if (s.homes != nullptr) return scan_gathered(b, s);
  scan_doubling(b, s);
}

constexpr Algorithm kScan[] = {
    {Coll::kScan, "linear", kNoRestriction, "along the chain of ranks", scan_linear},
    {Coll::kScan, "chain", kNoRestriction, "along the chain of ranks in segments",
     scan_chain},
    {Coll::kScan, "doubling", kNoRestriction, "log2(n) steps, to rank + 2^k",
     scan_doubling},
    {Coll::kScan, "two_level", kNoRestriction,
     "in each process, over their last ranks, and back; doubling in one process",
     scan_two_level},
    {Coll::kScan, "tree", kNoRestriction,
     "all to rank 0 and back over processes; doubling in one process", scan_tree},
    {Coll::kExscan, "linear", kNoRestriction, "along the chain of ranks",
     exscan_linear},
    {Coll::kExscan, "chain", kNoRestriction, "along the chain of ranks in segments",
     scan_chain},
    {Coll::kExscan, "doubling", kNoRestriction, "log2(n) steps, to rank + 2^k",
     scan_doubling},
    {Coll::kExscan, "two_level", kNoRestriction,
     "in each process, over their last ranks, and back; doubling in one process",
     scan_two_level},
    {Coll::kExscan, "tree", kNoRestriction,
     "all to rank 0 and back over processes; doubling in one process", scan_tree},
};

}  // namespace

std::span<const Algorithm> scan_algorithms() { return kScan; }

}  // namespace mpc::nbc
