#include "nbc/algorithms/relay.h"

#include <algorithm>
#include <numeric>

namespace mpc::nbc {

namespace {

// If each region has at least so many bytes, its leader talks to rank 0 directly: as in nested.cpp.
constexpr int64_t kStraightBytes = 8 << 10;

}  // namespace

Relay::Relay(B& b, const Shape& s, const std::vector<int64_t>& bytes)
    : b_(b), order_(s.homes->outside().order(0)), offsets_(bytes.size() + 1) {
  for (size_t i = 0; i < order_.size(); ++i)
    offsets_[i + 1] = offsets_[i] + bytes[static_cast<size_t>(order_[i])];
  const bool is_straight =
      offsets_.back() > kStraightBytes * s.homes->regions().count();
  tree_ = s.homes->outside().tree(s.rank, 0, {!s.is_nonblocking, is_straight});
  position_ = static_cast<int>(std::find(order_.begin(), order_.end(), s.rank) -
                               order_.begin());
}

std::vector<Relay::Run> Relay::runs_of(const TreeChild& child) const {
  std::vector<Run> runs;
  for (int i = 0; i < child.count; ++i) {
    const int where = position_ + child.first + i;
    const int rank = order_[static_cast<size_t>(where)];
    const int64_t bytes = offset(where + 1) - offset(where);
    if (!runs.empty() && runs.back().first + runs.back().count == rank) {
      ++runs.back().count;
      runs.back().bytes += bytes;
    } else {
      runs.push_back({rank, 1, at(child.first + i) - at(child.first), bytes});
    }
  }
  std::erase_if(runs, [](const Run& run) { return run.bytes == 0; });
  return runs;
}

NodeId Relay::send_up(BufferRef own, int tag) {
  if (at(tree_.span) == 0) return kNoNode;
  if (tree_.children.empty()) return b_.send(tree_.parent, own, tag);
  const BufferRef all = byte_scratch(b_, at(tree_.span));
  const NodeId sent = b_.send(tree_.parent, all, tag);
  for (const TreeChild& child : tree_.children)
    if (bytes_of(child) > 0)
      b_.connect(b_.recv(child.rank, of_child(all, child), tag), sent);
  if (at(1) == 0) return kNoNode;
  const NodeId copied = b_.copy(own, bytes_at(all, 0, at(1)));
  b_.connect(copied, sent);
  return copied;
}

void Relay::receive_down(BufferRef own, NodeId guard, int tag) {
  if (at(tree_.span) == 0) return;
  if (tree_.children.empty()) {
    after(b_, guard, b_.recv(tree_.parent, own, tag));
    return;
  }
  const BufferRef all = byte_scratch(b_, at(tree_.span));
  const NodeId received = b_.recv(tree_.parent, all, tag);
  for (size_t i = tree_.children.size(); i-- > 0;) {
    const TreeChild& child = tree_.children[i];
    if (bytes_of(child) > 0)
      after(b_, received, b_.send(child.rank, of_child(all, child), tag));
  }
  if (at(1) == 0) return;
  const NodeId copied = after(b_, received, b_.copy(bytes_at(all, 0, at(1)), own));
  b_.connect(guard, copied);
}

void Relay::receive(const BlocksAt& place, NodeId done, int tag) {
  for (const TreeChild& child : tree_.children) {
    if (bytes_of(child) == 0) continue;
    const std::vector<Run> runs = runs_of(child);
    if (runs.size() == 1) {
      b_.connect(b_.recv(child.rank, place(runs[0].first, runs[0].count), tag), done);
      continue;
    }
    const BufferRef data = byte_scratch(b_, bytes_of(child));
    const NodeId received = b_.recv(child.rank, data, tag);
    for (const Run& run : runs)
      b_.connect(after(b_, received,
                       b_.copy(bytes_at(data, run.at, run.bytes),
                               place(run.first, run.count))),
                 done);
  }
}

void Relay::receive_packed(const BufferRef& all, NodeId done, int tag) {
  for (const TreeChild& child : tree_.children)
    if (bytes_of(child) > 0)
      b_.connect(b_.recv(child.rank, of_child(all, child), tag), done);
}

void Relay::send(const BlocksAt& place, NodeId ready, int tag) {
  for (size_t i = tree_.children.size(); i-- > 0;) {
    const TreeChild& child = tree_.children[i];
    if (bytes_of(child) == 0) continue;
    const std::vector<Run> runs = runs_of(child);
    if (runs.size() == 1) {
      after(b_, ready, b_.send(child.rank, place(runs[0].first, runs[0].count), tag));
      continue;
    }
    const BufferRef data = byte_scratch(b_, bytes_of(child));
    const NodeId sent = b_.send(child.rank, data, tag);
    for (const Run& run : runs)
      b_.connect(after(b_, ready,
                       b_.copy(place(run.first, run.count),
                               bytes_at(data, run.at, run.bytes))),
                 sent);
  }
}

// Blocks go up to rank 0; the whole result, packed in the
// order of the tree, goes down to all ranks.
void allgatherv_nested(B& b, const Shape& s) {
  std::vector<int64_t> bytes;
  for (const Count count : s.recv_counts)
    bytes.push_back(total_bytes(count, s.recv_type));
  const int64_t all_bytes = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  if (all_bytes == 0) return;
  Relay relay(b, s, bytes);
  const auto block = [&](int rank) { return recv_block(s, rank, s.size); };
  const BufferRef own =
      s.is_in_place ? block(s.rank)
                    : elements(kSendBuffer, kSendType, s.send_type, 0, s.send_count);
  const bool has_data = bytes[static_cast<size_t>(s.rank)] > 0;
  const BufferRef whole = byte_scratch(b, all_bytes);
  NodeId ready = kNoNode;
  if (relay.is_root()) {
    ready = b.nop();
    relay.receive_packed(whole, ready, 0);
    if (has_data) b.connect(b.copy(own, bytes_at(whole, 0, bytes[0])), ready);
  } else {
    relay.send_up(own, 0);
  }
  const Tree down = shape_tree(fit_tree(TreeKind::kPlaces, s, all_bytes), s, 0);
  const NodeId have = bcast_down(b, down, whole, ready, 1);
  for (int i = 0; i < s.size; ++i) {
    const int rank = relay.order()[static_cast<size_t>(i)];
    const int64_t length = bytes[static_cast<size_t>(rank)];
    if (length == 0 || (rank == s.rank && s.is_in_place)) continue;
    after(b, have, b.copy(bytes_at(whole, relay.offset(i), length), block(rank)));
  }
}

}  // namespace mpc::nbc
