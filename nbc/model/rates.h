#pragma once
// Rates: the speed of copies that share memory.
//
// Role:      every copy has a rate of its own, and all that touch a NUMA node share that node's.
// Users:     nbc/model/tree_time.cpp.
// Threads:   one.
// See also:  sim/traffic.h (the same rule, in ticks, with each copy by itself).
//
// Copies between the same nodes with the same own rate are always equally fast: they form a lane.
// A lane counts the bytes that each of its copies has moved since it was last empty, so that a
// change of the rate has a cost per lane and not per copy.

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace mpc::nbc {

class Rates {
 public:
  // numa_gbs: of one NUMA node; 0: no limit.
  Rates(double numa_gbs, int numa_count)
      : numa_gbs_(numa_gbs), active_(static_cast<size_t>(numa_count)) {}

  // `number`: the caller's, for take_ended(). Requires: bytes > 0; time never goes backwards.
  void begin(double now_us, double bytes, double own_gbs, int numa_a, int numa_b,
             uint32_t number);
  // When the next copy ends, as things stand; infinite: there is none.
  double next_us();
  // Appends the numbers of the copies that have ended.
  void take_ended(double now_us, std::vector<uint32_t>& numbers);

 private:
  using Copy =
      std::pair<double, uint32_t>;  // its lane's `moved` at its end, and its number
  struct Lane {
    int numa_a, numa_b;
    double own_gbs;
    double moved = 0;  // bytes
    double bytes_per_us = 0;
    std::priority_queue<Copy, std::vector<Copy>, std::greater<>> copies;
  };
  Lane& lane_of(double own_gbs, int numa_a, int numa_b);
  void count(const Lane& lane, int more);
  void advance(double now_us);
  void settle();

  double numa_gbs_;
  std::vector<int> active_;  // copies by NUMA node
  std::vector<Lane> lanes_;
  double now_us_ = 0;
  bool is_settled_ = true;
};

}  // namespace mpc::nbc
