// Alltoall over hosts and processes, or over the workers of one process: between two of them one
// message carries the blocks of all their ranks. Also the order in which a rank sends directly to
// all others.
#include <algorithm>

#include "nbc/algorithms/nest.h"
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

// Ranks at equal distances that follow each other in a list; `at`: the index of the first one
// there.
struct Row {
  int first, step, count, at;
};

std::vector<Row> rows_of(std::span<const int> list) {
  std::vector<Row> rows;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!rows.empty()) {
      Row& row = rows.back();
      const int step = list[i] - list[i - 1];
      if (row.count == 1) row.step = step;
      if (row.step == step) {
        ++row.count;
        continue;
      }
    }
    rows.push_back({list[i], 1, 1, static_cast<int>(i)});
  }
  return rows;
}

constexpr int kUp = 0, kBetween = 1, kDown = 2;  // tags

// Extra distance between the lines of a leader that reads block i of all of them. Otherwise these
// blocks could be a power of two apart, and compete for the same cache lines.
constexpr int64_t kApart = 64;

// One rank's part. A line contains what one rank sends or receives: a block for each rank, packed,
// in the order of `order_`. In this order the ranks of a region follow each other, and within a
// region those of a subtree.
class TwoLevels {
 public:
  TwoLevels(B& b, const Shape& s, const Homes& homes)
      : b_(b),
        s_(s),
        regions_(homes.regions()),
        tree_(homes.outside().tree_inside(s.rank, {true, true})),
        order_(homes.outside().order(0)),
        rows_(rows_of(order_)),
        block_(total_bytes(s.recv_count, s.recv_type)),
        line_(block_ * s.size),
        step_(has_leaves_only() ? line_ + kApart : line_) {
    first_.push_back(0);  // order_ has the regions in turn, as rank 0 is in the first
    for (int g = 0; g < regions_.count(); ++g)
      first_.push_back(first_.back() + ranks(g));
  }

  void build() {
    const Value up = collect();
    const NodeId left = tree_.parent >= 0 ? send_up(up) : kNoNode;
    // With MPI_IN_PLACE arriving data must not overwrite blocks that have yet to be read.
    const NodeId guard = s_.is_in_place ? (left != kNoNode ? left : up.ready) : kNoNode;
    deliver(tree_.parent >= 0 ? receive_down(guard) : exchange(up), guard);
  }

 private:
  int ranks(int region) const {
    return static_cast<int>(regions_.members(region).size());
  }
  int first(int region) const { return first_[static_cast<size_t>(region)]; }
  bool is_plain() const { return rows_.size() == 1 && rows_[0].step == 1; }
  bool is_leaf() const { return tree_.parent >= 0 && tree_.children.empty(); }
  // True: each line that is sent or received here is a message of its own.
  bool has_leaves_only() const {
    return tree_.parent < 0 &&
           std::all_of(tree_.children.begin(), tree_.children.end(),
                       [](const TreeChild& child) { return child.count == 1; });
  }

  BufferRef given(int first_rank, int count) const {
    if (s_.is_in_place) return taken(first_rank, count);
    return elements(kSendBuffer, kSendType, s_.send_type, first_rank * s_.send_count,
                    count * s_.send_count);
  }
  BufferRef taken(int first_rank, int count) const {
    return elements(kRecvBuffer, kRecvType, s_.recv_type, first_rank * s_.recv_count,
                    count * s_.recv_count);
  }
  int64_t given_stride() const {
    return s_.is_in_place ? taken_stride() : s_.send_count * s_.send_type.extent;
  }
  int64_t taken_stride() const { return s_.recv_count * s_.recv_type.extent; }

  // The rank's own line and those of its subtree. A leaf's line stays in the user's buffer if it
  // needs no packing.
  Value collect() {
    if (is_leaf() && is_plain()) return {given(0, s_.size)};
    const BufferRef lines = byte_scratch(b_, tree_.span * step_);
    const NodeId all = b_.nop();
    for (const Row& row : rows_) {
      const BufferRef to = bytes_at(lines, row.at * block_, block_);
      b_.connect(row.step == 1
                     ? b_.copy(given(row.first, row.count),
                               bytes_at(to, 0, row.count * block_))
                     : b_.copy(given(row.first, 1), to,
                               {row.count, row.step * given_stride(), block_}),
                 all);
    }
    for (const TreeChild& child : tree_.children)
      b_.connect(b_.recv(child.rank, of_child(lines, child), kUp), all);
    return {lines, all};
  }
  BufferRef of_child(const BufferRef& lines, const TreeChild& child) const {
    return bytes_at(lines, child.first * step_, child.count * line_);
  }

  NodeId send_up(const Value& lines) {
    return after(b_, lines.ready, b_.send(tree_.parent, lines.ref, kUp));
  }
  Value receive_down(NodeId guard) {
    if (is_leaf() && is_plain()) {
      const BufferRef here = taken(0, s_.size);
      return {here, after(b_, guard, b_.recv(tree_.parent, here, kDown))};
    }
    const BufferRef lines = byte_scratch(b_, tree_.span * line_);
    return {lines, b_.recv(tree_.parent, lines, kDown)};
  }

  // At a region's leader: `up` holds what its ranks send. Returns what they receive.
  Value exchange(const Value& up) {
    const int own = regions_.of(s_.rank);
    const BufferRef down = byte_scratch(b_, tree_.span * step_);
    const NodeId all = b_.nop();
    turn(up, own, bytes_at(down, first(own) * block_, block_), step_, all);
    for (int i = 1; i < regions_.count(); ++i) {
      // Each leader starts with a different region.
      const int to = (own + i) % regions_.count(),
                from = (own - i + regions_.count()) % regions_.count();
      send_to(to, up);
      const int64_t piece = ranks(from) * block_;
      const BufferRef in = byte_scratch(b_, tree_.span * piece);
      const NodeId received = b_.recv(regions_.leader(from), in, kBetween);
      const NodeId copied =
          b_.copy(bytes_at(in, 0, piece), bytes_at(down, first(from) * block_, piece),
                  {tree_.span, piece, step_});
      b_.connect(received, copied);
      b_.connect(copied, all);
    }
    return {down, all};
  }

  // Sends the blocks of the ranks here for those of the region, sorted by receiver.
  void send_to(int region, const Value& up) {
    const int64_t piece = tree_.span * block_;
    const BufferRef out = byte_scratch(b_, ranks(region) * piece);
    const NodeId sent = b_.send(regions_.leader(region), out, kBetween);
    turn(up, region, out, piece, sent);
  }

  // Copies the blocks for the ranks of `region` from the lines of the ranks here. The result has a
  // piece for each receiver, with a block of each rank here; pieces are `to_step` apart.
  void turn(const Value& up, int region, const BufferRef& to, int64_t to_step,
            NodeId done) {
    const int there = ranks(region), here = tree_.span;
    const bool by_piece = there <= here;  // the choice that needs fewer copies
    for (int i = 0; i < (by_piece ? there : here); ++i) {
      const int64_t block = by_piece ? first(region) + i : first(region);
      const BufferRef source =
          bytes_at(up.ref, (by_piece ? 0 : i * step_) + block * block_, block_);
      const BufferRef target = bytes_at(to, i * (by_piece ? to_step : block_), block_);
      const NodeId copied = b_.copy(
          source, target,
          by_piece ? Repeat{here, step_, block_} : Repeat{there, block_, to_step});
      b_.connect(up.ready, copied);
      b_.connect(copied, done);
    }
  }

  void deliver(const Value& down, NodeId guard) {
    if (is_leaf() && is_plain()) return;
    for (const TreeChild& child : tree_.children)
      after(b_, down.ready, b_.send(child.rank, of_child(down.ref, child), kDown));
    for (const Row& row : rows_) {
      const BufferRef from = bytes_at(down.ref, row.at * block_, block_);
      const NodeId copied =
          row.step == 1 ? b_.copy(bytes_at(from, 0, row.count * block_),
                                  taken(row.first, row.count))
                        : b_.copy(from, taken(row.first, 1),
                                  {row.count, block_, row.step * taken_stride()});
      b_.connect(guard, copied);
      after(b_, down.ready, copied);
    }
  }

  B& b_;
  const Shape& s_;
  const Regions& regions_;
  const Tree tree_;
  const std::vector<int> order_;
  const std::vector<Row> rows_;
  const int64_t block_, line_;  // bytes
  const int64_t step_;          // from line to line, if there are several
  std::vector<int> first_;      // by region: its first index in order_
};

}  // namespace

void alltoall_nested(B& b, const Shape& s, const Homes& homes) {
  TwoLevels(b, s, homes).build();
}

// Without homes: send to rank + i, receive from rank - i. With homes the ranks form a grid with a
// column for each region. In each step every rank addresses the same distance down and to the right
// of itself, plus as many columns to the right as its row says. So the ranks of a region send to
// different regions at any time, and each rank sends to different regions in turn.
std::vector<Step> steps_of(const Shape& s) {
  std::vector<Step> steps;
  if (s.homes == nullptr) {
    for (int i = 1; i < s.size; ++i)
      steps.push_back({(s.rank + i) % s.size, (s.rank - i + s.size) % s.size});
    return steps;
  }
  const Regions& regions = s.homes->regions();
  const int columns = regions.count(), rows = regions.most();
  const int column = regions.of(s.rank), row = regions.index(s.rank);
  const auto rank_at = [&](int c, int r) {
    const auto members = regions.members(((c % columns) + columns) % columns);
    const auto at = static_cast<size_t>(((r % rows) + rows) % rows);
    return at < members.size() ? members[at] : -1;
  };
  for (int down = 0; down < rows; ++down)
    for (int right = 0; right < columns; ++right) {
      const int from_row = (row - down + rows) % rows;
      const Step step{rank_at(column + right + row, row + down),
                      rank_at(column - right - from_row, from_row)};
      steps.push_back(step.to == s.rank ? Step{-1, -1} : step);
    }
  return steps;
}

}  // namespace mpc::nbc
