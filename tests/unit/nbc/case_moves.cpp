// Cases of collectives that only move data between all ranks.
#include <numeric>

#include "tests/unit/nbc/case_maker.h"

namespace mpc::nbc::test {

void CaseMaker::bcast() {
  const int64_t bytes = any_bytes();
  for (RankCase& r : c_.ranks) {
    r.recv = {block(bytes, r.type_indices[1], 0)};
    r.shape.recv_count = r.recv[0].count;
    r.input_in_recv = true;
    r.input_bytes = bytes;
    for (int64_t k = 0; k < bytes; ++k) r.want.push_back(moved(root_, k));
  }
}

void CaseMaker::gather(bool is_v) {
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

void CaseMaker::collect(RankCase& r, const std::vector<int64_t>& bytes, bool is_v) {
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

void CaseMaker::scatter(bool is_v) {
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

void CaseMaker::allgather(bool is_v) {
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

void CaseMaker::alltoall() {
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

int64_t CaseMaker::side(RankCase& r, const std::vector<int64_t>& bytes, int type,
                        bool is_recv, bool is_same, bool is_w) {
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

bool CaseMaker::is_alltoall() const {
  return c_.coll == Coll::kAlltoall || c_.coll == Coll::kAlltoallv ||
         c_.coll == Coll::kAlltoallw;
}

}  // namespace mpc::nbc::test
