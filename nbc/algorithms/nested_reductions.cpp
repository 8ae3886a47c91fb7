// Reduce_scatter, scan and exscan over hosts and processes.
#include "nbc/algorithms/relay.h"
#include "nbc/algorithms/select.h"

namespace mpc::nbc {

namespace {

// A value that is being reduced; if it belongs to the user it is only read.
struct Part {
  BufferRef ref;
  NodeId ready = kNoNode;
  bool is_users = false;
};

// `first` op `next`; the result lies where `next` did, or in a copy of it.
Part combine(B& b, const Shape& s, const Part& first, const Part& next) {
  Part value = next;
  if (next.is_users) {
    value.ref = typed_scratch(b, kRecvType, s.recv_type, next.ref.count);
    value.ready = after(b, next.ready, b.copy(next.ref, value.ref));
    value.is_users = false;
  }
  const NodeId reduced = b.reduce(first.ref, value.ref);
  b.connect(first.ready, reduced);
  b.connect(value.ready, reduced);
  value.ready = reduced;
  return value;
}

// With MPI_IN_PLACE the result is written when no node reads the user's data any more.
void wait_for_readers(B& b, const Shape& s, NodeId writer) {
  if (!s.is_in_place) return;
  for (NodeId id = 0; id < b.node_count(); ++id) {
    const Node& node = b.node(id);
    const bool reads = node.kind == NodeKind::kSend || node.kind == NodeKind::kCopy ||
                       node.kind == NodeKind::kReduce;
    if (id != writer && reads && node.from.slot == kRecvBuffer) b.connect(id, writer);
  }
}

// --- reduce_scatter ----------------------------------------------------------------------------

// Both forms as one: block i of the whole vector goes to rank i.
class Vector {
 public:
  explicit Vector(const Shape& s) : s_(s), first_(static_cast<size_t>(s.size) + 1) {
    for (size_t i = 0; i + 1 < first_.size(); ++i)
      first_[i + 1] = first_[i] + (s.coll == Coll::kReduceScatter ? s.recv_counts[i]
                                                                  : s.recv_count);
  }
  Count count(int i) const { return first(i + 1) - first(i); }
  Count all() const { return first_.back(); }
  BufferRef given() const {
    return elements(s_.is_in_place ? kRecvBuffer : kSendBuffer, kRecvType, s_.recv_type,
                    0, all());
  }
  // The blocks of ranks from .. from + count - 1 in a whole vector.
  BufferRef blocks(const BufferRef& whole, int from, int count) const {
    return part(whole, s_.recv_type, first(from), first(from + count) - first(from));
  }
  BufferRef target() const {
    return elements(kRecvBuffer, kRecvType, s_.recv_type, 0, count(s_.rank));
  }

 private:
  Count first(int i) const { return first_[static_cast<size_t>(i)]; }
  const Shape& s_;
  std::vector<Count> first_;
};

// Which rank combines block `to` in a region: in its own region the target, elsewhere each member
// combines some blocks.
int collector(const Regions& regions, int region, int to) {
  const auto members = regions.members(region);
  return members[static_cast<size_t>(regions.index(to)) % members.size()];
}

// Tags. Two members of a region may have many blocks for each other;
// these are in the order of the ranks that they are for.
constexpr int kInside = 0, kMostInside = 1000, kBetween = 1001;

// The messages between the members of one region.
class Inside {
 public:
  Inside(B& b, const Shape& s, const Vector& vector, const Regions& regions)
      : b_(b),
        s_(s),
        vector_(vector),
        regions_(regions),
        region_(regions.of(s.rank)),
        members_(regions.members(region_)),
        streams_(members_.size(), TagStream(kInside, kMostInside)),
        counts_(members_.size()) {}

  // Sends the rank's own contribution to block `to` to its collector.
  void send(int to) {
    const int here = collector(regions_, region_, to);
    const NodeId node = b_.send(here, vector_.blocks(vector_.given(), to, 1));
    set_tag(here, node);
  }
  // The region's value for `to`, at the collector, combined in rank order.
  Part combined(int to) {
    Part value;
    for (const int member : members_) {
      Part next{vector_.blocks(vector_.given(), to, 1), kNoNode, true};
      if (member != s_.rank) {
        next = {typed_scratch(b_, kRecvType, s_.recv_type, next.ref.count)};
        next.ready = b_.recv(member, next.ref);
        set_tag(member, next.ready);
      }
      value = member == members_[0] ? next : combine(b_, s_, value, next);
    }
    return value;
  }

 private:
  void set_tag(int peer, NodeId node) {
    const auto at = static_cast<size_t>(regions_.index(peer));
    b_.node(node).tag_offset = streams_[at].tag(counts_[at]++);
    streams_[at].add(b_, node);
  }
  B& b_;
  const Shape& s_;
  const Vector& vector_;
  const Regions& regions_;
  const int region_;
  const std::span<const int> members_;
  std::vector<TagStream>
      streams_;  // indexed by member: what is sent to it, or received from it
  std::vector<int> counts_;
};

// Combines the regions' values for this rank, in the order
// of regions. `mine`: the own region's value.
Part of_all_regions(B& b, const Shape& s, const Vector& vector, const Regions& regions,
                    const Part& mine) {
  const BufferRef target = vector.target();
  const int last = regions.count() - 1;
  Part value;
  for (int region = 0; region <= last; ++region) {
    Part next = mine;
    if (region != regions.of(s.rank)) {
      // The last value to arrive may be received in the result's place, unless that is in use.
      next = {region == last && !s.is_in_place
                  ? target
                  : typed_scratch(b, kRecvType, s.recv_type, target.count)};
      next.ready = b.recv(collector(regions, region, s.rank), next.ref, kBetween);
    }
    value = region == 0 ? next : combine(b, s, value, next);
  }
  return value;
}

}  // namespace

const Regions* regions_of_reduction(const Shape& s) {
  return s.is_commutative ? &s.homes->regions() : s.homes->rows();
}

// In each region one member combines all of the region's data for a rank, and sends that rank the
// result. So between regions there is one message per rank,
// not one per pair of ranks, and all ranks work.
//
// Messages are created in the same order at all ranks: first those inside regions, then those
// between regions, both ordered by the rank that they are for. So also in rounds the first
// incomplete message in this order waits for none after it.
void reduce_scatter_regions(B& b, const Shape& s) {
  const Regions& regions = *regions_of_reduction(s);
  const Vector vector(s);
  Inside sends(b, s, vector, regions), receives(b, s, vector, regions);
  struct Collected {
    int to;
    Part value;
  };
  std::vector<Collected> collected;
  for (int to = 0; to < s.size; ++to) {
    if (vector.count(to) == 0) continue;
    if (collector(regions, regions.of(s.rank), to) == s.rank)
      collected.push_back({to, receives.combined(to)});
    else
      sends.send(to);
  }
  Part mine;
  for (const auto& [to, value] : collected) {
    if (to == s.rank)
      mine = of_all_regions(b, s, vector, regions, value);
    else
      after(b, value.ready, b.send(to, value.ref, kBetween));
  }
  const BufferRef target = vector.target();
  if (target.count == 0 || (mine.ref.slot == target.slot && !mine.is_users)) return;
  wait_for_readers(b, s, after(b, mine.ready, b.copy(mine.ref, target)));
}

// The whole vector goes up a tree to rank 0, and from there the blocks go down, packed.
void reduce_scatter_nested(B& b, const Shape& s) {
  const Vector vector(s);
  std::vector<int64_t> bytes;
  for (int i = 0; i < s.size; ++i)
    bytes.push_back(total_bytes(vector.count(i), s.recv_type));
  const int64_t all_bytes = total_bytes(vector.all(), s.recv_type);
  const Tree tree = shape_tree(fit_tree(TreeKind::kPlaces, s, all_bytes), s, 0);
  Relay relay(b, s, bytes);
  BufferRef whole{};
  if (s.rank == 0) whole = typed_scratch(b, kRecvType, s.recv_type, vector.all());
  const NodeId up =
      reduce_up(b, s, tree, {vector.given()}, false, s.rank == 0 ? &whole : nullptr, 0);
  const BufferRef target = vector.target();
  if (s.rank != 0) {
    // With MPI_IN_PLACE a block is overwritten: only after everything has
    // been read, that is when the last send has completed.
    relay.receive_down(target, s.is_in_place ? up : kNoNode, 1);
    return;
  }
  relay.send([&](int first, int count) { return vector.blocks(whole, first, count); },
             up, 1);
  if (target.count > 0) after(b, up, b.copy(vector.blocks(whole, 0, 1), target));
}

// --- scans ---------------------------------------------------------------------------------------

namespace {

// For consecutive ranks in a list: the value of all ranks
// before this one, and that with its own value.
// `before.ref.count` is 0 at the first rank.
struct Prefix {
  Part before, with_own;
};

// Along the list, rank by rank: few messages.
Prefix along(B& b, const Shape& s, const Part& mine, std::span<const int> list,
             size_t at, int tag) {
  Prefix value{{{}, kNoNode}, mine};
  if (at > 0) {
    value.before.ref = typed_scratch(b, kRecvType, s.recv_type, mine.ref.count);
    value.before.ready = b.recv(list[at - 1], value.before.ref, tag);
    value.with_own = combine(b, s, value.before, mine);
  }
  if (at + 1 < list.size())
    after(b, value.with_own.ready, b.send(list[at + 1], value.with_own.ref, tag));
  return value;
}

// Step k: the sum of the last 2^k members goes to the member 2^k further on. Few steps.
// `only_before`: with_own is not needed.
Prefix doubling(B& b, const Shape& s, const Part& mine, std::span<const int> list,
                size_t at, int tag, bool only_before = false) {
  Prefix value{{{}, kNoNode}, mine};
  for (size_t distance = 1; distance < list.size(); distance *= 2, ++tag) {
    NodeId sent = kNoNode;
    if (at + distance < list.size())
      sent = after(b, value.with_own.ready,
                   b.send(list[at + distance], value.with_own.ref, tag));
    if (at < distance) continue;
    Part other{typed_scratch(b, kRecvType, s.recv_type, mine.ref.count)};
    other.ready = b.recv(list[at - distance], other.ref, tag);
    if (!only_before || at + 2 * distance < list.size()) {
      value.with_own = combine(b, s, other, value.with_own);
      b.connect(sent, value.with_own.ready);  // it may read the value where it lies
      // What has arrived has been read once now, and the next values may be added to it.
      other.ready = value.with_own.ready;
    }
    value.before =
        value.before.ref.count == 0 ? other : combine(b, s, other, value.before);
  }
  return value;
}

// The value of all ranks before this region, at each rank of the region if it is not the first.
Part of_regions_before(B& b, const Shape& s, const Regions& regions,
                       const Part& with_own) {
  constexpr int kLeaders = 100, kDown = 200;  // tags
  const int region = regions.of(s.rank);
  const auto members = regions.members(region);
  const auto count = static_cast<int>(members.size());
  Part before;
  if (s.rank == members.back()) {
    std::vector<int> lasts;
    for (int g = 0; g < regions.count(); ++g)
      lasts.push_back(regions.members(g).back());
    Part sum = with_own;
    sum.is_users = true;  // the rank's own result needs it, too
    before =
        doubling(b, s, sum, lasts, static_cast<size_t>(region), kLeaders, true).before;
  }
  if (region == 0 || count == 1) return before;
  if (s.rank != members.back())
    before.ref = typed_scratch(b, kRecvType, s.recv_type, s.recv_count);
  const TreeKind kind = s.is_nonblocking ? TreeKind::kBinomial : TreeKind::kFlat;
  Tree tree = make_tree(kind, regions.index(s.rank), count, count - 1, {});
  if (tree.parent >= 0) tree.parent = members[static_cast<size_t>(tree.parent)];
  for (TreeChild& child : tree.children)
    child.rank = members[static_cast<size_t>(child.rank)];
  before.ready = bcast_down(b, tree, before.ref, before.ready, kDown);
  return before;
}

// Writes `first` op `second` to the result; either may be empty.
void put(B& b, const Shape& s, const Part& first, const Part& second) {
  const BufferRef target = result(s);
  const bool has_both = first.ref.count > 0 && second.ref.count > 0;
  Part value = second.ref.count > 0 ? second : first;
  if (value.ref.count == 0) return;
  if (!has_both || !s.is_in_place) {
    NodeId done = kNoNode;
    if (value.ref.slot != target.slot)
      done = after(b, value.ready, b.copy(value.ref, target));
    if (has_both) {
      const NodeId reduced = b.reduce(first.ref, target);
      b.connect(first.ready, reduced);
      b.connect(done, reduced);
    } else if (done != kNoNode) {
      wait_for_readers(b, s, done);
    }
    return;
  }
  value.is_users = true;  // it may still be read
  value = combine(b, s, first, value);
  wait_for_readers(b, s, after(b, value.ready, b.copy(value.ref, target)));
}

}  // namespace

// A scan inside each region, whose ranks are consecutive; its last rank then has the region's sum
// for the regions after it. The value of all earlier regions is sent to all ranks of a region.
void scan_regions(B& b, const Shape& s) {
  const Regions& regions = *s.homes->rows();
  const auto members = regions.members(regions.of(s.rank));
  const bool is_folded = count_places(s.place_of_rank) < s.size;
  const Part mine{contribution(s), kNoNode, true};
  const auto at = static_cast<size_t>(regions.index(s.rank));
  const Prefix inside = is_folded ? along(b, s, mine, members, at, 0)
                                  : doubling(b, s, mine, members, at, 0);
  const Part before = of_regions_before(b, s, regions, inside.with_own);
  put(b, s, before, s.coll == Coll::kScan ? inside.with_own : inside.before);
}

// All values go to rank 0, which combines them in rank order and sends the results back: for small
// values of ranks that form no rows.
void scan_gathered(B& b, const Shape& s) {
  const int64_t one = total_bytes(s.recv_count, s.recv_type);
  Relay up(b, s, std::vector<int64_t>(static_cast<size_t>(s.size), one));
  std::vector<int64_t> results(static_cast<size_t>(s.size), one);
  const bool is_exclusive = s.coll == Coll::kExscan;
  if (is_exclusive) results[0] = 0;
  Relay down(b, s, results);
  const BufferRef mine = contribution(s), target = result(s);
  if (s.rank != 0) {
    const NodeId read = up.send_up(mine, 0);
    down.receive_down(target, s.is_in_place ? read : kNoNode, 1);
    return;
  }
  const BufferRef all = typed_scratch(b, kRecvType, s.recv_type, s.size * s.recv_count);
  const auto values = [&](int first, int count) {
    return part(all, s.recv_type, first * s.recv_count, count * s.recv_count);
  };
  const NodeId there = b.nop();
  b.connect(b.copy(mine, values(0, 1)), there);
  up.receive(values, there, 0);
  NodeId done = there;
  for (int r = 1; r < s.size; ++r)
    done = after(b, done, b.reduce(values(r - 1, 1), values(r, 1)));
  const auto results_of = [&](int first, int count) {
    return values(is_exclusive ? first - 1 : first, count);
  };
  down.send(results_of, done, 1);
  if (!is_exclusive && !s.is_in_place) b.copy(mine, target);
}

}  // namespace mpc::nbc
