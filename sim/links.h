#pragma once
// Links: the network between simulated hosts.
//
// Role:      each host has one link, which sends one message at a time and receives one at a time,
//            in the order in which they began; there is nothing else between hosts.
// Users:     sim/player.cpp.
// Threads:   one.
// See also:  nbc/model/parameters.h (NetworkCost), nbc/model/network.h.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nbc/model/parameters.h"
#include "sim/traffic.h"

namespace mpc::sim {

class Links {
 public:
  Links(int hosts, const nbc::NetworkCost& cost)
      : cost_(cost),
        sends_until_(static_cast<size_t>(hosts)),
        receives_until_(static_cast<size_t>(hosts)) {}

  // Returns when the last byte arrives.
  Time begin(Time now, uint32_t from, uint32_t to, int64_t bytes) {
    Time& sends = sends_until_[from];
    Time& receives = receives_until_[to];
    const Time end = std::max({now, sends, receives}) + ticks(wire_us(bytes));
    sends = receives = end;
    return end + ticks(cost_.latency_us);
  }

 private:
  double wire_us(int64_t bytes) const {
    constexpr double kBytesPerUsPerGbs = 1e3;
    return static_cast<double>(bytes) / (cost_.bandwidth_gbs * kBytesPerUsPerGbs);
  }

  nbc::NetworkCost cost_;
  std::vector<Time> sends_until_, receives_until_;  // by host
};

}  // namespace mpc::sim
