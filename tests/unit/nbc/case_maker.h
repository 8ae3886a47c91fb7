#pragma once
// CaseMaker: makes a random case of a collective, see cases.h.
//
// Role:      one member function for each shape of data: who sends which bytes where, and what must
//            be there afterwards.
// Users:     tests/unit/nbc/cases.cpp.
// Threads:   one.
// See also:  tests/unit/nbc/cases.h.

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tests/unit/nbc/cases.h"

namespace mpc::nbc::test {

class CaseMaker {
 public:
  CaseMaker(Coll coll, int size, std::mt19937& random, int unit);
  Case make();

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

  // In half of the cases: processes in rows of ranks of any lengths, in turn, or anyhow, on some hosts.
  void make_homes() {
    if (coin()) return;
    const int kind = below(3), processes = 1 + below(std::min(n_, 6));
    const int hosts = 1 + below(processes);
    std::vector<int> process, host, worker = c_.places;
    int row = 0;
    for (int r = 0; r < n_; ++r) {
      row = std::min(processes - 1, row + (below(3) == 0 ? 1 : 0));
      process.push_back(kind == 0 ? row : kind == 1 ? r % processes : below(processes));
      host.push_back(process.back() * hosts / processes);
    }
    worker.resize(static_cast<size_t>(n_));  // no places: one worker
    auto homes = std::make_shared<const Homes>(host, process, worker);
    if (homes->has_groups()) c_.homes = std::move(homes);
  }
  void make_workers() {
    if (c_.places.empty() || c_.homes != nullptr) return;
    const std::vector<int> one(c_.places.size(), 0);
    auto workers = std::make_shared<const Homes>(one, c_.places, one);
    if (workers->has_groups()) c_.workers = std::move(workers);
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
                            const std::vector<int>& types);
  void finish(RankCase& r);

  // case_moves.cpp
  void bcast();
  void gather(bool is_v);
  void scatter(bool is_v);
  void allgather(bool is_v);
  void alltoall();
  // The receive side of gather(v) and allgather(v).
  void collect(RankCase& r, const std::vector<int64_t>& bytes, bool is_v);
  // One side of an alltoall-like call: fills blocks, counts, displacements and types.
  int64_t side(RankCase& r, const std::vector<int64_t>& bytes, int type, bool is_recv,
               bool is_same, bool is_w);
  bool is_alltoall() const;

  // case_reductions.cpp
  void reduction();
  void reduce_scatter();

  // case_neighbors.cpp
  struct Edge {
    int from, out_index, to, in_index;
    int64_t bytes;
  };
  struct Neighbors {
    bool is_same, is_gather, is_w;
    int64_t same;
    std::vector<int64_t> of_rank;
    std::vector<Edge> edges;
    std::vector<std::vector<int64_t>> outs;  // by rank
  };
  void neighbor();
  int64_t edge_bytes(const Neighbors& all, int from);
  void add_grid(Neighbors& all);
  void add_graph(Neighbors& all);
  void add_sides(Neighbors& all, RankCase& r);
  void find_senders(const Neighbors& all);

  Case c_;
  std::mt19937& random_;
  int n_, unit_, root_ = 0;
  bool in_place_ = false;
};

}  // namespace mpc::nbc::test
