#pragma once
// Traffic: the copies under way, and the speed of each while they share memory.
//
// Role:      bandwidth of the simulated machine: a copy has its own rate, and all copies that
//            touch a NUMA node share that node's.
// Users:     sim/player.cpp.
// Threads:   one.
// See also:  nbc/model/parameters.h.

#include <cstdint>
#include <functional>
#include <vector>

#include "nbc/model/parameters.h"

namespace mpc::sim {

using Time = int64_t;  // picoseconds: whole numbers, so that equal times are equal
constexpr double kTicksPerUs = 1e6;
inline Time ticks(double us) { return static_cast<Time>(us * kTicksPerUs + 0.5); }
inline double microseconds(Time time) {
  return static_cast<double>(time) / kTicksPerUs;
}

class Traffic {
 public:
  // The copy with this number would end at this time, as things stand now. Called again when
  // that changes; the last call counts.
  using Expected = std::function<void(uint32_t copy, uint32_t version, Time end)>;

  Traffic(double numa_gbs, int numa_count, Expected expected)
      : numa_gbs_(numa_gbs),
        nodes_(static_cast<size_t>(numa_count)),
        expected_(std::move(expected)) {}

  // Returns the copy's number, which may be used again after end(). Call settle() after everything
  // that happens at `now`.
  uint32_t begin(Time now, int64_t bytes, double own_gbs, int numa_a, int numa_b);
  // Is this the latest expectation?
  bool is_current(uint32_t copy, uint32_t version) const {
    return copies_[copy].is_active && copies_[copy].version == version;
  }
  void end(uint32_t copy);
  void settle(Time now);

 private:
  struct Copy {
    bool is_active = false;
    uint32_t version = 0;
    int numa[2] = {0, 0};
    double left_bytes = 0;
    double own_gbs = 0, gbs = 0;
    Time since = 0;  // left_bytes is the value at this time
  };
  struct Node {
    std::vector<uint32_t> copies;
    bool is_changed = false;
  };
  double rate_of(const Copy& copy) const;
  void touch(int numa);
  void remove_from(int numa, uint32_t copy);

  double numa_gbs_;
  std::vector<Node> nodes_;
  Expected expected_;
  std::vector<Copy> copies_;
  std::vector<uint32_t> free_;
  std::vector<int> changed_;
};

}  // namespace mpc::sim
