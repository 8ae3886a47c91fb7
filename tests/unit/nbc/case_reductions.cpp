// Cases of reductions.
#include <numeric>

#include "tests/unit/nbc/case_maker.h"

namespace mpc::nbc::test {

void CaseMaker::reduction() {
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

void CaseMaker::reduce_scatter() {
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

}  // namespace mpc::nbc::test
