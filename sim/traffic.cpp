#include "sim/traffic.h"

#include <algorithm>
#include <cmath>

namespace mpc::sim {

namespace {

// 1 GB/s is 10^9 bytes per second, that is 10^-3 bytes per picosecond.
constexpr double kBytesPerTickPerGbs = 1e-3;

}  // namespace

double Traffic::rate_of(const Copy& copy) const {
  double rate = copy.own_gbs;
  if (numa_gbs_ <= 0) return rate;
  for (int numa : copy.numa)
    rate = std::min(
        rate, numa_gbs_ /
                  static_cast<double>(nodes_[static_cast<size_t>(numa)].copies.size()));
  return rate;
}

void Traffic::touch(int numa) {
  Node& node = nodes_[static_cast<size_t>(numa)];
  if (node.is_changed) return;
  node.is_changed = true;
  changed_.push_back(numa);
}

uint32_t Traffic::begin(Time now, int64_t bytes, double own_gbs, int numa_a,
                        int numa_b) {
  uint32_t number;
  if (free_.empty()) {
    number = static_cast<uint32_t>(copies_.size());
    copies_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  Copy& copy = copies_[number];
  copy = {
      true, copy.version + 1, {numa_a, numa_b}, static_cast<double>(bytes), own_gbs, 0,
      now};
  touch(numa_a);
  touch(numa_b);
  nodes_[static_cast<size_t>(numa_a)].copies.push_back(number);
  if (numa_b != numa_a) nodes_[static_cast<size_t>(numa_b)].copies.push_back(number);
  return number;
}

void Traffic::remove_from(int numa, uint32_t number) {
  auto& list = nodes_[static_cast<size_t>(numa)].copies;
  const auto at = std::find(list.begin(), list.end(), number);
  *at = list.back();
  list.pop_back();
  touch(numa);
}

void Traffic::end(uint32_t number) {
  Copy& copy = copies_[number];
  copy.is_active = false;
  remove_from(copy.numa[0], number);
  if (copy.numa[1] != copy.numa[0]) remove_from(copy.numa[1], number);
  free_.push_back(number);
}

void Traffic::settle(Time now) {
  for (int numa : changed_) {
    Node& node = nodes_[static_cast<size_t>(numa)];
    node.is_changed = false;
    for (uint32_t number : node.copies) {
      Copy& copy = copies_[number];
      const double rate = rate_of(copy);
      if (rate == copy.gbs) continue;
      copy.left_bytes -=
          static_cast<double>(now - copy.since) * copy.gbs * kBytesPerTickPerGbs;
      copy.left_bytes = std::max(0.0, copy.left_bytes);
      copy.since = now;
      copy.gbs = rate;
      const double rest = copy.left_bytes / (rate * kBytesPerTickPerGbs);
      expected_(number, ++copy.version, now + static_cast<Time>(std::llround(rest)));
    }
  }
  changed_.clear();
}

}  // namespace mpc::sim
