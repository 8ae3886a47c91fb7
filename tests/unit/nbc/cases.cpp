#include "tests/unit/nbc/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace mpc::nbc::test {

namespace {

CaseType make_type(int64_t extent, std::vector<std::pair<int64_t, int64_t>> blocks,
                   bool is_contiguous) {
  CaseType type;
  type.verify = {extent, blocks};
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (const auto& [offset, bytes] : blocks) {
    low = std::min(low, offset);
    high = std::max(high, offset + bytes);
  }
  type.shape.size = type.verify.size();
  type.shape.extent = extent;
  type.shape.true_lb = low;
  type.shape.true_extent = high - low;
  type.shape.is_contiguous = is_contiguous;
  return type;
}

}  // namespace

const CaseType& case_type(int index) {
  static const CaseType types[kCaseTypes] = {
      make_type(1, {{0, 1}}, true),
      make_type(2, {{0, 2}}, true),
      make_type(5, {{3, 1}, {1, 1}}, false),
      make_type(-3, {{-1, 1}, {0, 1}}, false),
  };
  return types[index];
}

std::pair<int64_t, int64_t> bounds(const std::vector<Block>& blocks) {
  const auto offsets = packed_offsets(blocks);
  if (offsets.empty()) return {0, 0};
  const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
  return {*low, *high + 1};
}

std::vector<int64_t> packed_offsets(const std::vector<Block>& blocks) {
  std::vector<int64_t> out;
  for (const Block& block : blocks) {
    const VerifyType& type = case_type(block.type).verify;
    for (Count i = 0; i < block.count; ++i)
      for (const auto& [offset, bytes] : type.blocks)
        for (int64_t k = 0; k < bytes; ++k)
          out.push_back(block.offset + i * type.extent + offset + k);
  }
  return out;
}

std::string Case::text() const {
  return fmt::format("{} of {} ranks, root {}, {}commutative, in place {}, count {}",
                     name_of(coll), size, ranks[0].shape.root,
                     is_commutative ? "" : "not ", ranks[0].shape.is_in_place,
                     ranks[0].shape.recv_count);
}

namespace {

class Maker {
 public:
  Maker(Coll coll, int size, std::mt19937& random, int unit)
      : random_(random), n_(size), unit_(unit) {
    c_.coll = coll;
    c_.size = size;
    c_.is_commutative = coin();
    make_places();
    root_ = below(n_);
    in_place_ = coin();
    for (int r = 0; r < n_; ++r) {
      RankCase& rank = c_.ranks.emplace_back();
      rank.shape.coll = coll;
      rank.shape.rank = r;
      rank.shape.size = n_;
      rank.shape.root = root_;
      rank.shape.is_commutative = c_.is_commutative;
      rank.type_indices = {any_type(), any_type()};
    }
  }

  Case make() {
    switch (c_.coll) {
      case Coll::kBarrier:
        break;
      case Coll::kBcast:
        bcast();
        break;
      case Coll::kGather:
        gather(false);
        break;
      case Coll::kGatherv:
        gather(true);
        break;
      case Coll::kScatter:
        scatter(false);
        break;
      case Coll::kScatterv:
        scatter(true);
        break;
      case Coll::kAllgather:
        allgather(false);
        break;
      case Coll::kAllgatherv:
        allgather(true);
        break;
      case Coll::kAlltoall:
      case Coll::kAlltoallv:
      case Coll::kAlltoallw:
        alltoall();
        break;
      case Coll::kReduce:
      case Coll::kAllreduce:
      case Coll::kScan:
      case Coll::kExscan:
        reduction();
        break;
      case Coll::kReduceScatterBlock:
      case Coll::kReduceScatter:
        reduce_scatter();
        break;
      default:
        neighbor();
        break;
    }
    for (RankCase& r : c_.ranks) finish(r);
    return std::move(c_);
  }

 private:
  int below(int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(random_);
  }
  bool coin() { return below(2) == 1; }
  int any_type() { return below(kCaseTypes); }
  // Even numbers of bytes, so that every type can describe them.
  int64_t any_bytes() { return 2 * below(unit_ + 1); }

  void make_places() {
    const int kind = below(4), places = 1 + below(std::min(n_, 8));
    if (kind == 0) return;
    for (int r = 0; r < n_; ++r)
      c_.places.push_back(kind == 1   ? r * places / n_
                          : kind == 2 ? r % places
                                      : below(places));
  }

  static Count count_of(int64_t bytes, int type) {
    return bytes / case_type(type).shape.size;
  }
  // A block of `bytes` of a type whose first element is at `element` extents.
  static Block block(int64_t bytes, int type, Count element) {
    return {element * case_type(type).shape.extent, count_of(bytes, type), type};
  }
  static int64_t displacement(const Block& b) {
    return b.offset / case_type(b.type).shape.extent;
  }
  Want moved(int rank, int64_t index) { return {{rank}, index}; }
  // A v-form layout: blocks in random order with random holes between them.
  std::vector<Block> spread(const std::vector<int64_t>& bytes,
                            const std::vector<int>& types) {
    std::vector<size_t> order(bytes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<Block> out(bytes.size());
    Count element = 0;
    int64_t at = 0;
    const bool is_uniform =
        std::all_of(types.begin(), types.end(), [&](int t) { return t == types[0]; });
    for (size_t i : order) {
      if (is_uniform) {
        out[i] = block(bytes[i], types[i], element);
        element += out[i].count + below(2);
      } else {  // w form: in bytes, each block in room of its own
        const int64_t room = 8 * (bytes[i] + 1);
        out[i] = {at + room / 2 + below(3), count_of(bytes[i], types[i]), types[i]};
        at += room;
      }
    }
    return out;
  }

  void bcast() {
    const int64_t bytes = any_bytes();
    for (RankCase& r : c_.ranks) {
      r.recv = {block(bytes, r.type_indices[1], 0)};
      r.shape.recv_count = r.recv[0].count;
      r.input_in_recv = true;
      r.input_bytes = bytes;
      for (int64_t k = 0; k < bytes; ++k) r.want.push_back(moved(root_, k));
    }
  }

  void gather(bool is_v) {
    const int64_t same = any_bytes();
    std::vector<int64_t> bytes;
    for (int i = 0; i < n_; ++i) bytes.push_back(is_v ? any_bytes() : same);
    for (RankCase& r : c_.ranks) {
      const int me = r.shape.rank;
      const bool is_root = me == root_;
      r.shape.is_in_place = is_root && in_place_;
      r.input_bytes = bytes[static_cast<size_t>(me)];
      if (!r.shape.is_in_place) {
        r.send = {block(r.input_bytes, r.type_indices[0], 0)};
        r.shape.send_count = r.send[0].count;
      }
      if (!is_root) continue;
      collect(r, bytes, is_v);
    }
  }
  // The receive side of gather(v) and allgather(v).
  void collect(RankCase& r, const std::vector<int64_t>& bytes, bool is_v) {
    const int type = r.type_indices[1];
    if (is_v) {
      r.recv = spread(bytes, std::vector<int>(bytes.size(), type));
      for (const Block& b : r.recv) {
        r.recv_counts.push_back(b.count);
        r.recv_displs.push_back(displacement(b));
      }
    } else {
      r.shape.recv_count = count_of(bytes[0], type);
      for (int i = 0; i < n_; ++i)
        r.recv.push_back(block(bytes[0], type, i * r.shape.recv_count));
    }
    r.input_in_recv = r.shape.is_in_place;
    if (r.input_in_recv)
      for (int i = 0; i < r.shape.rank; ++i)
        r.input_offset += bytes[static_cast<size_t>(i)];
    for (int i = 0; i < n_; ++i)
      for (int64_t k = 0; k < bytes[static_cast<size_t>(i)]; ++k)
        r.want.push_back(moved(i, k));
  }

  void scatter(bool is_v) {
    const int64_t same = any_bytes();
    std::vector<int64_t> bytes;
    for (int i = 0; i < n_; ++i) bytes.push_back(is_v ? any_bytes() : same);
    int64_t before = 0;
    for (RankCase& r : c_.ranks) {
      const int me = r.shape.rank;
      const int64_t mine = bytes[static_cast<size_t>(me)];
      const bool is_root = me == root_;
      r.shape.is_in_place = is_root && in_place_;
      if (!r.shape.is_in_place) {
        r.recv = {block(mine, r.type_indices[1], 0)};
        r.shape.recv_count = r.recv[0].count;
        for (int64_t k = 0; k < mine; ++k) r.want.push_back(moved(root_, before + k));
      }
      before += mine;
      if (!is_root) continue;
      const int type = r.type_indices[0];
      if (is_v) {
        r.send = spread(bytes, std::vector<int>(bytes.size(), type));
        for (const Block& b : r.send) {
          r.send_counts.push_back(b.count);
          r.send_displs.push_back(displacement(b));
        }
      } else {
        r.shape.send_count = count_of(same, type);
        for (int i = 0; i < n_; ++i)
          r.send.push_back(block(same, type, i * r.shape.send_count));
      }
      r.input_bytes = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
    }
  }

  void allgather(bool is_v) {
    const int64_t same = any_bytes();
    std::vector<int64_t> bytes;
    for (int i = 0; i < n_; ++i) bytes.push_back(is_v ? any_bytes() : same);
    for (RankCase& r : c_.ranks) {
      r.shape.is_in_place = in_place_;
      r.input_bytes = bytes[static_cast<size_t>(r.shape.rank)];
      if (!in_place_) {
        r.send = {block(r.input_bytes, r.type_indices[0], 0)};
        r.shape.send_count = r.send[0].count;
      }
      collect(r, bytes, is_v);
    }
  }

  void alltoall() {
    const auto n = static_cast<size_t>(n_);
    const bool is_same = c_.coll == Coll::kAlltoall, is_w = c_.coll == Coll::kAlltoallw;
    const int64_t same = any_bytes();
    // bytes[i][j] from i to j; symmetric in place, as each side's counts serve both ways.
    std::vector<std::vector<int64_t>> bytes(n, std::vector<int64_t>(n, same));
    if (!is_same)
      for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j)
          bytes[i][j] = in_place_ && j < i ? bytes[j][i] : any_bytes();
    for (RankCase& r : c_.ranks) {
      const auto me = static_cast<size_t>(r.shape.rank);
      r.shape.is_in_place = in_place_;
      std::vector<int64_t> in(n);
      for (size_t i = 0; i < n; ++i) in[i] = bytes[i][me];
      side(r, bytes[me], r.type_indices[0], false, is_same, is_w);
      const int64_t all_in = side(r, in, r.type_indices[1], true, is_same, is_w);
      r.input_in_recv = in_place_;
      r.input_bytes =
          in_place_ ? all_in
                    : std::accumulate(bytes[me].begin(), bytes[me].end(), int64_t{0});
      for (size_t i = 0; i < n; ++i) {
        int64_t before = 0;
        for (size_t j = 0; j < me; ++j) before += bytes[i][j];
        for (int64_t k = 0; k < in[i]; ++k)
          r.want.push_back(moved(static_cast<int>(i), before + k));
      }
    }
  }
  // One side of an alltoall-like call: fills blocks, counts, displacements and types.
  int64_t side(RankCase& r, const std::vector<int64_t>& bytes, int type, bool is_recv,
               bool is_same, bool is_w) {
    const int64_t all = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
    auto& blocks = is_recv ? r.recv : r.send;
    std::vector<int> types(bytes.size(), type);
    if (is_w) {
      if (!is_recv) r.type_indices.clear();
      for (int& t : types) t = any_type();
      if (types.size() > 1) types[0] = (types[1] + 1) % kCaseTypes;  // not uniform
      r.type_indices.insert(r.type_indices.end(), types.begin(), types.end());
    }
    if (!is_recv && in_place_ && is_alltoall()) return all;
    if (is_same) {
      const Count count = bytes.empty() ? 0 : count_of(bytes[0], type);
      (is_recv ? r.shape.recv_count : r.shape.send_count) = count;
      for (size_t i = 0; i < bytes.size(); ++i)
        blocks.push_back(block(bytes[i], type, static_cast<Count>(i) * count));
      return all;
    }
    blocks = spread(bytes, types);
    for (size_t i = 0; i < blocks.size(); ++i) {
      // A w form whose types happen to be alike was laid out in elements.
      (is_recv ? r.recv_counts : r.send_counts).push_back(blocks[i].count);
      (is_recv ? r.recv_displs : r.send_displs)
          .push_back(is_w ? blocks[i].offset : displacement(blocks[i]));
      if (is_w)
        (is_recv ? r.recv_types : r.send_types).push_back(case_type(types[i]).shape);
    }
    return all;
  }
  bool is_alltoall() const {
    return c_.coll == Coll::kAlltoall || c_.coll == Coll::kAlltoallv ||
           c_.coll == Coll::kAlltoallw;
  }

  void reduction() {
    const int type = any_type();
    const int64_t bytes = any_bytes();
    for (RankCase& r : c_.ranks) {
      const int me = r.shape.rank;
      const bool is_reduce = c_.coll == Coll::kReduce;
      const bool has_result = !is_reduce || me == root_;
      r.type_indices = {type, type};
      r.shape.is_in_place = in_place_ && has_result;
      r.shape.recv_count = count_of(bytes, type);
      r.input_bytes = bytes;
      r.input_in_recv = r.shape.is_in_place;
      if (!r.shape.is_in_place) r.send = {block(bytes, type, 0)};
      if (!has_result) continue;
      r.recv = {block(bytes, type, 0)};
      const int end = c_.coll == Coll::kScan     ? me + 1
                      : c_.coll == Coll::kExscan ? me
                                                 : n_;
      std::vector<int> ranks(static_cast<size_t>(end));
      std::iota(ranks.begin(), ranks.end(), 0);
      for (int64_t k = 0; k < bytes; ++k) r.want.push_back({ranks, k});
    }
  }

  void reduce_scatter() {
    const int type = any_type();
    const bool is_v = c_.coll == Coll::kReduceScatter;
    const int64_t same = any_bytes();
    std::vector<int64_t> bytes;
    for (int i = 0; i < n_; ++i) bytes.push_back(is_v ? any_bytes() : same);
    const int64_t all = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
    std::vector<int> ranks(static_cast<size_t>(n_));
    std::iota(ranks.begin(), ranks.end(), 0);
    int64_t before = 0;
    for (RankCase& r : c_.ranks) {
      const int64_t mine = bytes[static_cast<size_t>(r.shape.rank)];
      r.type_indices = {type, type};
      r.shape.is_in_place = in_place_;
      r.shape.recv_count = count_of(same, type);
      if (is_v)
        for (int64_t b : bytes) r.recv_counts.push_back(count_of(b, type));
      r.input_bytes = all;
      r.input_in_recv = in_place_;
      if (!in_place_) r.send = {block(all, type, 0)};
      // In place the receive buffer holds the whole vector; only its beginning is defined
      // afterwards, so the rest may be anything.
      r.recv = {block(in_place_ ? all : mine, type, 0)};
      for (int64_t k = 0; k < mine; ++k) r.want.push_back({ranks, before + k});
      before += mine;
    }
  }

  void neighbor() {
    // A random multigraph, or a periodic Cartesian grid with dimensions of 1, 2 and more.
    const bool is_same =
        c_.coll == Coll::kNeighborAllgather || c_.coll == Coll::kNeighborAlltoall;
    const bool is_gather =
        c_.coll == Coll::kNeighborAllgather || c_.coll == Coll::kNeighborAllgatherv;
    const bool is_w = c_.coll == Coll::kNeighborAlltoallw;
    const bool is_cartesian = coin();
    struct Edge {
      int from, out_index, to, in_index;
      int64_t bytes;
    };
    std::vector<Edge> edges;
    const int64_t same = any_bytes();
    std::vector<int64_t> of_rank;
    for (int i = 0; i < n_; ++i) of_rank.push_back(is_same ? same : any_bytes());
    auto edge_bytes = [&](int from) {
      return is_gather ? of_rank[static_cast<size_t>(from)]
             : is_same ? same
                       : any_bytes();
    };
    for (RankCase& r : c_.ranks) r.shape.is_cartesian = is_cartesian;
    if (is_cartesian) {
      int dims[2] = {1, n_};
      for (int d = 2; d * d <= n_; ++d)
        if (n_ % d == 0) dims[0] = d, dims[1] = n_ / d;
      const bool is_periodic = coin();
      for (int r = 0; r < n_; ++r)
        for (int d = 0; d < 2; ++d)
          for (int sign = 0; sign < 2; ++sign) {
            const int stride = d == 0 ? dims[1] : 1;
            const int coordinate = r / stride % dims[d];
            const int next = coordinate + (sign == 0 ? -1 : 1);
            const bool is_out = next < 0 || next >= dims[d];
            const int peer =
                is_out && !is_periodic
                    ? -1
                    : r + ((next + dims[d]) % dims[d] - coordinate) * stride;
            auto& rank = c_.ranks[static_cast<size_t>(r)];
            rank.sources.push_back(peer);
            rank.destinations.push_back(peer);
            const int index = 2 * d + sign;
            if (peer >= 0) edges.push_back({r, index, peer, index ^ 1, edge_bytes(r)});
          }
    } else {
      for (int e = below(3 * n_ + 1); e > 0; --e) {
        const int from = below(n_), to = below(n_);
        auto& out = c_.ranks[static_cast<size_t>(from)].destinations;
        auto& in = c_.ranks[static_cast<size_t>(to)].sources;
        edges.push_back({from, static_cast<int>(out.size()), to,
                         static_cast<int>(in.size()), edge_bytes(from)});
        out.push_back(to);
        in.push_back(from);
      }
    }
    for (RankCase& r : c_.ranks) {
      const int me = r.shape.rank;
      std::vector<int64_t> out(r.destinations.size(), is_same ? same : 0);
      std::vector<int64_t> in(r.sources.size(), is_same ? same : 0);
      std::vector<const Edge*> from(r.sources.size());
      for (const Edge& e : edges) {
        if (e.from == me) out[static_cast<size_t>(e.out_index)] = e.bytes;
        if (e.to == me) {
          in[static_cast<size_t>(e.in_index)] = e.bytes;
          from[static_cast<size_t>(e.in_index)] = &e;
        }
      }
      if (is_gather) {
        r.input_bytes = of_rank[static_cast<size_t>(me)];
        r.send = {block(r.input_bytes, r.type_indices[0], 0)};
        r.shape.send_count = r.send[0].count;
        // An edge that the gather does not have in `in` does not exist: its sender's block.
        side(r, in, r.type_indices[1], true, is_same, false);
      } else {
        r.input_bytes = side(r, out, r.type_indices[0], false, is_same, is_w);
        side(r, in, r.type_indices[1], true, is_same, is_w);
      }
      outs_.push_back(out);
      for (size_t i = 0; i < in.size(); ++i)
        for (int64_t k = 0; k < in[i]; ++k)
          r.want.push_back(from[i] == nullptr
                               ? Want{}
                               : Want{{from[i]->from, from[i]->out_index}, k});
    }
    // Now that all outgoing sizes are known: from (rank, edge) to (rank, byte of its input).
    for (RankCase& r : c_.ranks)
      for (Want& want : r.want) {
        if (want.ranks.empty()) continue;
        const auto& out = outs_[static_cast<size_t>(want.ranks[0])];
        if (!is_gather)
          for (int i = 0; i < want.ranks[1]; ++i)
            want.index += out[static_cast<size_t>(i)];
        want.ranks.pop_back();
      }
  }

  void finish(RankCase& r) {
    Shape& s = r.shape;
    if (!r.type_indices.empty() && c_.coll != Coll::kAlltoallw &&
        c_.coll != Coll::kNeighborAlltoallw) {
      s.send_type = case_type(r.type_indices[0]).shape;
      s.recv_type = case_type(r.type_indices[1]).shape;
    }
    s.send_counts = r.send_counts;
    s.send_displs = r.send_displs;
    s.recv_counts = r.recv_counts;
    s.recv_displs = r.recv_displs;
    s.send_types = r.send_types;
    s.recv_types = r.recv_types;
    s.sources = r.sources;
    s.destinations = r.destinations;
  }

  Case c_;
  std::mt19937& random_;
  int n_, unit_, root_ = 0;
  bool in_place_ = false;
  std::vector<std::vector<int64_t>> outs_;
};

}  // namespace

Case random_case(Coll coll, int size, std::mt19937& random, int unit) {
  Case made = Maker(coll, size, random, unit).make();
  for (RankCase& r : made.ranks) r.shape.place_of_rank = made.places;
  return made;
}

}  // namespace mpc::nbc::test
