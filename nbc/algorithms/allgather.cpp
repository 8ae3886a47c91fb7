// Allgather and allgatherv.
#include <algorithm>
#include <numeric>

#include "nbc/algorithms/nest.h"
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

// Both forms look the same here: each rank has a block in the receive buffer, and this rank's
// own block lies somewhere.
class Blocks {
 public:
  explicit Blocks(const Shape& s) : s_(s), is_v_(s.coll == Coll::kAllgatherv) {}
  BufferRef at(int i) const {
    const auto n = static_cast<size_t>(i);
    if (is_v_)
      return elements(kRecvBuffer, kRecvType, s_.recv_type, s_.recv_displs[n],
                      s_.recv_counts[n]);
    return elements(kRecvBuffer, kRecvType, s_.recv_type, i * s_.recv_count,
                    s_.recv_count);
  }
  int64_t bytes(int i) const { return total_bytes(at(i).count, s_.recv_type); }
  // This rank's block before any data has moved.
  BufferRef own() const {
    if (s_.is_in_place) return at(s_.rank);
    return elements(kSendBuffer, kSendType, s_.send_type, 0, s_.send_count);
  }
  // Copies the own block to its place among the others.
  NodeId copy_own(B& b) const {
    if (s_.is_in_place || bytes(s_.rank) == 0) return kNoNode;
    return b.copy(own(), at(s_.rank));
  }

 private:
  const Shape& s_;
  bool is_v_;
};

void allgather_linear(B& b, const Shape& s) {
  const Blocks blocks(s);
  for (int i = 1; i < s.size; ++i) {
    const int from = (s.rank - i + s.size) % s.size;
    if (blocks.bytes(from) > 0) b.recv(from, blocks.at(from));
  }
  for (int i = 1; i < s.size; ++i)
    if (blocks.bytes(s.rank) > 0) b.send((s.rank + i) % s.size, blocks.own());
  blocks.copy_own(b);
}

// Block by block round a ring: in rank order, or a ring that crosses between processes as rarely as
// possible.
void allgather_ring(B& b, const Shape& s) {
  const Blocks blocks(s);
  const int n = s.size;
  std::vector<int> ring(static_cast<size_t>(n));
  std::iota(ring.begin(), ring.end(), 0);
  if (s.homes != nullptr) ring = s.homes->outside().order(0);
  const auto me =
      static_cast<int>(std::find(ring.begin(), ring.end(), s.rank) - ring.begin());
  // The rank that is so many places before this one in the ring.
  const auto before = [&](int places) {
    return ring[static_cast<size_t>((me - places + n) % n)];
  };
  const int right = before(-1), left = before(1);
  TagStream sends(0, 1000), recvs(0, 1000);
  int sent = 0, received = 0;
  Value value{blocks.own()};
  for (int step = 0; step < n - 1; ++step) {
    const int out = before(step), in = before(step + 1);
    if (blocks.bytes(out) > 0) {
      const NodeId node = b.send(right, value.ref, sends.tag(sent++));
      sends.add(b, node);
      b.connect(value.ready, node);
    }
    value = {blocks.at(in)};
    if (blocks.bytes(in) == 0) continue;
    value.ready = b.recv(left, value.ref, recvs.tag(received++));
    recvs.add(b, value.ready);
  }
  blocks.copy_own(b);
}

// All blocks go to rank 0, and the whole result goes down a tree: 2(n-1) messages.
void allgather_gather_bcast(B& b, const Shape& s) {
  const Blocks blocks(s);
  const bool is_v = s.coll == Coll::kAllgatherv;
  int64_t all_bytes = 0;
  for (int i = 0; i < s.size; ++i) all_bytes += blocks.bytes(i);
  const Tree tree = shape_tree(fit_tree(TreeKind::kPlaces, s, all_bytes), s, 0);
  // In the v form a block may lie anywhere, so the whole result goes down packed.
  const BufferRef whole =
      is_v ? byte_scratch(b, all_bytes)
           : elements(kRecvBuffer, kRecvType, s.recv_type, 0, s.size * s.recv_count);
  if (s.rank != 0) {
    const bool has_data = blocks.bytes(s.rank) > 0;
    const NodeId sent = has_data ? b.send(0, blocks.own(), 0) : kNoNode;
    const NodeId guard = s.is_in_place && !is_v ? sent : kNoNode;
    const NodeId received = bcast_down(b, tree, whole, guard, 1);
    if (!is_v) return;
    int64_t offset = 0;
    for (int i = 0; i < s.size; ++i) {
      const int64_t bytes = blocks.bytes(i);
      if (bytes > 0 && !(i == s.rank && s.is_in_place))
        after(b, received, b.copy(bytes_at(whole, offset, bytes), blocks.at(i)));
      offset += bytes;
    }
    return;
  }
  const NodeId complete = b.nop();
  b.connect(blocks.copy_own(b), complete);
  int64_t offset = 0;
  for (int i = 0; i < s.size; ++i) {
    const int64_t bytes = blocks.bytes(i);
    if (bytes == 0) continue;
    const NodeId received = i == 0 ? kNoNode : b.recv(i, blocks.at(i), 0);
    b.connect(received, complete);
    if (is_v) {
      const NodeId packed =
          b.copy(i == 0 ? blocks.own() : blocks.at(i), bytes_at(whole, offset, bytes));
      b.connect(received, packed);
      b.connect(packed, complete);
    }
    offset += bytes;
  }
  bcast_down(b, tree, whole, complete, 1);
}

// log2(n) steps; after step k a rank has the blocks of the next 2^(k+1) ranks, itself included.
// Block i of the packed scratch memory belongs to rank + i.
void allgather_bruck(B& b, const Shape& s) {
  const Blocks blocks(s);
  const int n = s.size;
  const int64_t block = blocks.bytes(s.rank);
  const BufferRef all = byte_scratch(b, n * block);
  std::vector<NodeId> have{b.copy(blocks.own(), bytes_at(all, 0, block))};
  int step = 0;
  for (int distance = 1; distance < n; distance *= 2, ++step) {
    const int count = std::min(distance, n - distance);
    const int to = (s.rank - distance + n) % n, from = (s.rank + distance) % n;
    const NodeId sent =
        with_level(b, b.send(to, bytes_at(all, 0, count * block), step), step);
    for (NodeId node : have) b.connect(node, sent);
    have.push_back(with_level(
        b, b.recv(from, bytes_at(all, distance * block, count * block), step), step));
  }
  // The blocks of ranks rank..n-1 come first, then those of 0..rank-1.
  const int tail = n - s.rank;
  const NodeId last = b.copy(bytes_at(all, 0, tail * block),
                             elements(kRecvBuffer, kRecvType, s.recv_type,
                                      s.rank * s.recv_count, tail * s.recv_count));
  for (NodeId node : have) b.connect(node, last);
  if (s.rank == 0) return;
  const NodeId first =
      b.copy(bytes_at(all, tail * block, s.rank * block),
             elements(kRecvBuffer, kRecvType, s.recv_type, 0, s.rank * s.recv_count));
  for (NodeId node : have) b.connect(node, first);
}

// Exchanges all blocks that both have with rank ^ 2^k, directly in the receive buffer.
void allgather_recursive_doubling(B& b, const Shape& s) {
  const Blocks blocks(s);
  std::vector<NodeId> have{blocks.copy_own(b)};
  int step = 0;
  for (int distance = 1; distance < s.size; distance *= 2, ++step) {
    const int partner = s.rank ^ distance;
    auto range = [&](int rank) {
      return elements(kRecvBuffer, kRecvType, s.recv_type,
                      (rank & ~(distance - 1)) * s.recv_count, distance * s.recv_count);
    };
    const NodeId sent = with_level(b, b.send(partner, range(s.rank), step), step);
    for (NodeId node : have) b.connect(node, sent);
    have.push_back(with_level(b, b.recv(partner, range(partner), step), step));
  }
}

// Byte offsets of the blocks first, first + 1, ... (mod n) packed one behind the other.
std::vector<int64_t> packed_offsets(const Blocks& blocks, int first, int n) {
  std::vector<int64_t> out(static_cast<size_t>(n) + 1);
  for (int i = 0; i < n; ++i)
    out[static_cast<size_t>(i) + 1] =
        out[static_cast<size_t>(i)] + blocks.bytes((first + i) % n);
  return out;
}

// Moves the packed blocks, of which block i belongs to rank
// first + i, to where the user wants them.
void unpack(B& b, const Shape& s, const Blocks& blocks, const BufferRef& all,
            const std::vector<int64_t>& offsets, int first,
            const std::vector<NodeId>& have) {
  const NodeId complete = b.nop();
  for (NodeId node : have) b.connect(node, complete);
  for (int i = 0; i < s.size; ++i) {
    const int rank = (first + i) % s.size;
    if (blocks.bytes(rank) == 0 || (rank == s.rank && s.is_in_place)) continue;
    const int64_t offset = offsets[static_cast<size_t>(i)];
    after(b, complete,
          b.copy(bytes_at(all, offset, blocks.bytes(rank)), blocks.at(rank)));
  }
}

// Like allgather_bruck, with blocks of any size.
void allgatherv_bruck(B& b, const Shape& s) {
  const Blocks blocks(s);
  const int n = s.size;
  const auto offsets = packed_offsets(blocks, s.rank, n);
  auto offset = [&](int i) { return offsets[static_cast<size_t>(i)]; };
  const BufferRef all = byte_scratch(b, offset(n));
  auto range = [&](int from, int to) {
    return bytes_at(all, offset(from), offset(to) - offset(from));
  };
  std::vector<NodeId> have;
  if (offset(1) > 0) have.push_back(b.copy(blocks.own(), range(0, 1)));
  int step = 0;
  for (int distance = 1; distance < n; distance *= 2, ++step) {
    const int count = std::min(distance, n - distance);
    const int to = (s.rank - distance + n) % n, from = (s.rank + distance) % n;
    if (range(0, count).count > 0) {
      const NodeId sent = with_level(b, b.send(to, range(0, count), step), step);
      for (NodeId node : have) b.connect(node, sent);
    }
    const BufferRef in = range(distance, distance + count);
    if (in.count > 0) have.push_back(with_level(b, b.recv(from, in, step), step));
  }
  unpack(b, s, blocks, all, offsets, s.rank, have);
}

// Like allgather_recursive_doubling, packed in rank order.
void allgatherv_recursive_doubling(B& b, const Shape& s) {
  const Blocks blocks(s);
  const auto offsets = packed_offsets(blocks, 0, s.size);
  auto offset = [&](int i) { return offsets[static_cast<size_t>(i)]; };
  const BufferRef all = byte_scratch(b, offset(s.size));
  auto range = [&](int from, int count) {
    return bytes_at(all, offset(from), offset(from + count) - offset(from));
  };
  std::vector<NodeId> have;
  if (blocks.bytes(s.rank) > 0) have.push_back(b.copy(blocks.own(), range(s.rank, 1)));
  int step = 0;
  for (int distance = 1; distance < s.size; distance *= 2, ++step) {
    const int partner = s.rank ^ distance;
    const BufferRef out = range(s.rank & ~(distance - 1), distance);
    const BufferRef in = range(partner & ~(distance - 1), distance);
    if (out.count > 0) {
      const NodeId sent = with_level(b, b.send(partner, out, step), step);
      for (NodeId node : have) b.connect(node, sent);
    }
    if (in.count > 0) have.push_back(with_level(b, b.recv(partner, in, step), step));
  }
  unpack(b, s, blocks, all, offsets, 0, have);
}

void allgather_homes(B& b, const Shape& s) {
  if (s.homes != nullptr) return allgather_nested(b, s);
  allgather_gather_bcast(b, s);
}
void allgatherv_homes(B& b, const Shape& s) {
  if (s.homes != nullptr) return allgatherv_nested(b, s);
  allgather_gather_bcast(b, s);
}

constexpr Algorithm kAllgather[] = {
    {Coll::kAllgather, "gather_bcast", kNoRestriction,
     "all to rank 0, the whole down a tree", allgather_gather_bcast},
    {Coll::kAllgather, "tree", kNoRestriction,
     "up and down a tree over processes; gather_bcast in one process", allgather_homes},
    {Coll::kAllgather, "ring", kNoRestriction, "blocks round a ring", allgather_ring},
    {Coll::kAllgather, "linear", kNoRestriction, "everyone to everyone",
     allgather_linear},
    {Coll::kAllgather, "bruck", kNoRestriction, "log2(n) steps with packed blocks",
     allgather_bruck},
    {Coll::kAllgather, "recursive_doubling", kPowerOfTwoOnly,
     "log2(n) steps in the receive buffer", allgather_recursive_doubling},
    {Coll::kAllgatherv, "ring", kNoRestriction, "blocks round a ring", allgather_ring},
    {Coll::kAllgatherv, "linear", kNoRestriction, "everyone to everyone",
     allgather_linear},
    {Coll::kAllgatherv, "gather_bcast", kNoRestriction,
     "all to rank 0, the whole packed down a tree", allgather_gather_bcast},
    {Coll::kAllgatherv, "tree", kNoRestriction,
     "packed up and down a tree over processes; gather_bcast in one process",
     allgatherv_homes},
    {Coll::kAllgatherv, "bruck", kNoRestriction, "log2(n) steps with packed blocks",
     allgatherv_bruck},
    {Coll::kAllgatherv, "recursive_doubling", kPowerOfTwoOnly,
     "log2(n) steps with packed blocks", allgatherv_recursive_doubling},
};

}  // namespace

std::span<const Algorithm> allgather_algorithms() { return kAllgather; }

}  // namespace mpc::nbc
