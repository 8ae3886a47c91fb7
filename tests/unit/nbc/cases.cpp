#include "tests/unit/nbc/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tests/unit/nbc/case_maker.h"

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

CaseMaker::CaseMaker(Coll coll, int size, std::mt19937& random, int unit)
    : random_(random), n_(size), unit_(unit) {
  c_.coll = coll;
  c_.size = size;
  c_.is_commutative = coin();
  make_places();
  make_homes();
  make_workers();
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

Case CaseMaker::make() {
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

std::vector<Block> CaseMaker::spread(const std::vector<int64_t>& bytes,
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

void CaseMaker::finish(RankCase& r) {
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

Case random_case(Coll coll, int size, std::mt19937& random, int unit) {
  Case made = CaseMaker(coll, size, random, unit).make();
  for (RankCase& r : made.ranks) {
    r.shape.place_of_rank = made.places;
    r.shape.homes = made.homes.get();
    r.shape.workers = made.workers.get();
  }
  return made;
}

}  // namespace mpc::nbc::test
