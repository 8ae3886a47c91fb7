// Alltoall, alltoallv and alltoallw.
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

// The three forms as one: a block for each peer on either side.
class Blocks {
 public:
  explicit Blocks(const Shape& s) : s_(s) {}
  BufferRef in(int peer) const { return recv_block(s_, peer, s_.size); }
  BufferRef out(int peer) const {
    return s_.is_in_place ? in(peer) : send_block(s_, peer);
  }
  int64_t in_bytes(int peer) const {
    return total_bytes(in(peer).count, recv_block_type(s_, peer));
  }
  int64_t out_bytes(int peer) const {
    if (s_.is_in_place) return in_bytes(peer);
    return total_bytes(out(peer).count, send_block_type(s_, peer));
  }

 private:
  const Shape& s_;
};

// What goes to `peer`: from the user's buffer, or in place from a packed copy. The receive
// from that peer then waits for the copy.
Value outgoing(B& b, const Shape& s, const Blocks& blocks, int peer) {
  if (!s.is_in_place) return {blocks.out(peer)};
  const BufferRef packed = byte_scratch(b, blocks.out_bytes(peer));
  return {packed, b.copy(blocks.out(peer), packed)};
}

// Own block.
void copy_own(B& b, const Shape& s, const Blocks& blocks) {
  if (!s.is_in_place && blocks.in_bytes(s.rank) > 0)
    b.copy(blocks.out(s.rank), blocks.in(s.rank));
}

// Everything at once, in the order of steps_of(), so that not all begin with the same peer.
void alltoall_linear(B& b, const Shape& s) {
  const Blocks blocks(s);
  const std::vector<Step> steps = steps_of(s);
  std::vector<Value> out(static_cast<size_t>(s.size));
  for (const auto [to, from] : steps) {
    if (from < 0) continue;
    const auto at = static_cast<size_t>(from);
    if (blocks.out_bytes(from) > 0) out[at] = outgoing(b, s, blocks, from);
    if (blocks.in_bytes(from) > 0)
      after(b, out[at].ready, b.recv(from, blocks.in(from)));
  }
  for (const auto [to, from] : steps) {
    if (to < 0) continue;
    const Value& value = out[static_cast<size_t>(to)];
    if (blocks.out_bytes(to) > 0) after(b, value.ready, b.send(to, value.ref));
  }
  copy_own(b, s, blocks);
}

// The steps of steps_of(); a window of them is open at a time.
void alltoall_pairwise(B& b, const Shape& s) {
  constexpr size_t kWindow = 4;  // steps: enough to hide one late partner
  const Blocks blocks(s);
  const int n = s.size;
  std::vector<Value> out(static_cast<size_t>(n));
  if (s.is_in_place)
    for (int i = 0; i < n; ++i)
      if (i != s.rank && blocks.out_bytes(i) > 0)
        out[static_cast<size_t>(i)] = outgoing(b, s, blocks, i);
  std::vector<NodeId> done;  // by step
  for (const auto [to, from] : steps_of(s)) {
    if (to < 0 && from < 0) continue;
    const NodeId gate = done.size() >= kWindow ? done[done.size() - kWindow] : kNoNode;
    const NodeId both = b.nop();
    b.connect(gate, both);
    if (from >= 0 && blocks.in_bytes(from) > 0) {
      const NodeId received = after(b, gate, b.recv(from, blocks.in(from)));
      b.connect(out[static_cast<size_t>(from)].ready, received);
      b.connect(received, both);
    }
    if (to >= 0 && blocks.out_bytes(to) > 0) {
      const Value value =
          s.is_in_place ? out[static_cast<size_t>(to)] : Value{blocks.out(to)};
      const NodeId sent = after(b, gate, b.send(to, value.ref));
      b.connect(value.ready, sent);
      b.connect(sent, both);
    }
    done.push_back(both);
  }
  copy_own(b, s, blocks);
}

// Copies the blocks i of 0..n-1 that have bit `distance` set between the array of all blocks
// and a packed one. They come in runs of `distance` blocks.
void copy_runs(B& b, int n, int distance, int64_t block, BufferRef all,
               BufferRef packed, bool is_pack, NodeId before, NodeId after_copy) {
  const int period = 2 * distance;
  auto emit = [&](int first_block, int packed_block, int length, Repeat strides) {
    const BufferRef in_all = bytes_at(all, first_block * block, length * block);
    const BufferRef in_packed = bytes_at(packed, packed_block * block, length * block);
    const NodeId node =
        is_pack ? b.copy(in_all, in_packed, strides)
                : b.copy(in_packed, in_all,
                         {strides.times, strides.to_stride, strides.from_stride});
    b.connect(before, node);
    b.connect(node, after_copy);
  };
  // Runs [distance + m * period, (m + 1) * period) that lie below n as a whole.
  const int whole = n / period;
  if (whole > 0) emit(distance, 0, distance, {whole, period * block, distance * block});
  const int rest = n - whole * period - distance;  // blocks of the last, cut run
  if (rest > 0) emit(whole * period + distance, whole * distance, rest, {});
}

// log2(n) messages per rank, each of about n / 2 blocks (Bruck et al. 1997). Block i of `all`
// is the one that has i ranks still to go.
void alltoall_bruck(B& b, const Shape& s) {
  const Blocks blocks(s);
  const int n = s.size;
  const int64_t block = blocks.in_bytes(s.rank);
  const BufferRef all = byte_scratch(b, n * block);
  const uint16_t slot = s.is_in_place ? kRecvBuffer : kSendBuffer;
  const uint16_t type = s.is_in_place ? kRecvType : kSendType;
  const TypeShape& shape = s.is_in_place ? s.recv_type : s.send_type;
  const Count count = s.is_in_place ? s.recv_count : s.send_count;
  NodeId ready = b.nop();
  const int tail = n - s.rank;
  b.connect(b.copy(elements(slot, type, shape, s.rank * count, tail * count),
                   bytes_at(all, 0, tail * block)),
            ready);
  if (s.rank > 0)
    b.connect(b.copy(elements(slot, type, shape, 0, s.rank * count),
                     bytes_at(all, tail * block, s.rank * block)),
              ready);
  int step = 0;
  for (int distance = 1; distance < n; distance *= 2, ++step) {
    const int period = 2 * distance;
    const int moving = n / period * distance + std::max(0, n % period - distance);
    const BufferRef out = byte_scratch(b, moving * block),
                    in = byte_scratch(b, moving * block);
    const NodeId sent = with_level(b, b.send((s.rank + distance) % n, out, step), step);
    copy_runs(b, n, distance, block, all, out, true, ready, sent);
    const NodeId received =
        with_level(b, b.recv((s.rank - distance + n) % n, in, step), step);
    // Unpacking overwrites what has been packed: after the packing, which ends with `sent`
    // at the latest.
    const NodeId arrived = b.nop();
    b.connect(received, arrived);
    b.connect(sent, arrived);
    ready = b.nop();
    copy_runs(b, n, distance, block, all, in, false, arrived, ready);
  }
  // The block in place i came from rank - i: ranks rank..0, then n-1..rank+1.
  const BufferRef first =
      elements(kRecvBuffer, kRecvType, s.recv_type, 0, s.recv_count);
  const int64_t stride = s.recv_count * s.recv_type.extent;
  after(b, ready,
        b.copy(bytes_at(all, s.rank * block, block), first,
               {s.rank + 1, -block, stride}));
  if (s.rank + 1 < n)
    after(b, ready,
          b.copy(bytes_at(all, (n - 1) * block, block),
                 elements(kRecvBuffer, kRecvType, s.recv_type,
                          (s.rank + 1) * s.recv_count, s.recv_count),
                 {n - 1 - s.rank, -block, stride}));
}

void alltoall_homes(B& b, const Shape& s) {
  const Homes* const homes = s.homes != nullptr ? s.homes : s.workers;
  if (homes != nullptr) return alltoall_nested(b, s, *homes);
  alltoall_linear(b, s);
}

constexpr Algorithm kAlltoall[] = {
    {Coll::kAlltoall, "linear", kNoRestriction, "everything at once", alltoall_linear},
    {Coll::kAlltoall, "pairwise", kNoRestriction,
     "step by step with one rank to send to and one to receive from, four steps open",
     alltoall_pairwise},
    {Coll::kAlltoall, "bruck", kNoRestriction, "log2(n) messages of n/2 packed blocks",
     alltoall_bruck},
    {Coll::kAlltoall, "two_level", kNoRestriction,
     "one message between two processes or hosts, or between two workers of one "
     "process",
     alltoall_homes},
    {Coll::kAlltoallv, "linear", kNoRestriction, "everything at once", alltoall_linear},
    {Coll::kAlltoallv, "pairwise", kNoRestriction,
     "step by step with one rank to send to and one to receive from, four steps open",
     alltoall_pairwise},
    {Coll::kAlltoallw, "linear", kNoRestriction, "everything at once", alltoall_linear},
    {Coll::kAlltoallw, "pairwise", kNoRestriction,
     "step by step with one rank to send to and one to receive from, four steps open",
     alltoall_pairwise},
};

}  // namespace

std::span<const Algorithm> alltoall_algorithms() { return kAlltoall; }

}  // namespace mpc::nbc
