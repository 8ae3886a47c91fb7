#include "nbc/model/rates.h"

#include <algorithm>
#include <limits>

namespace mpc::nbc {

namespace {

constexpr double kBytesPerUsPerGbs = 1e3;
constexpr double kSameTimeUs = 1e-6;  // ends that differ by rounding only

}  // namespace

Rates::Lane& Rates::lane_of(double own_gbs, int numa_a, int numa_b) {
  for (Lane& lane : lanes_)
    if (lane.numa_a == numa_a && lane.numa_b == numa_b && lane.own_gbs == own_gbs)
      return lane;
  lanes_.push_back({numa_a, numa_b, own_gbs, 0, 0, {}});
  return lanes_.back();
}

void Rates::count(const Lane& lane, int more) {
  active_[static_cast<size_t>(lane.numa_a)] += more;
  if (lane.numa_b != lane.numa_a) active_[static_cast<size_t>(lane.numa_b)] += more;
  is_settled_ = false;
}

void Rates::advance(double now_us) {
  settle();
  for (Lane& lane : lanes_)
    if (!lane.copies.empty()) lane.moved += (now_us - now_us_) * lane.bytes_per_us;
  now_us_ = now_us;
}

void Rates::settle() {
  if (is_settled_) return;
  is_settled_ = true;
  for (Lane& lane : lanes_) {
    double gbs = lane.own_gbs;
    const int most = std::max({1, active_[static_cast<size_t>(lane.numa_a)],
                               active_[static_cast<size_t>(lane.numa_b)]});
    if (numa_gbs_ > 0) gbs = std::min(gbs, numa_gbs_ / most);
    lane.bytes_per_us = gbs * kBytesPerUsPerGbs;
  }
}

void Rates::begin(double now_us, double bytes, double own_gbs, int numa_a, int numa_b,
                  uint32_t number) {
  advance(now_us);
  Lane& lane = lane_of(own_gbs, std::min(numa_a, numa_b), std::max(numa_a, numa_b));
  if (lane.copies.empty()) lane.moved = 0;
  lane.copies.push({lane.moved + bytes, number});
  count(lane, 1);
}

double Rates::next_us() {
  settle();
  double next = std::numeric_limits<double>::infinity();
  for (const Lane& lane : lanes_) {
    if (lane.copies.empty()) continue;
    const double left = std::max(0.0, lane.copies.top().first - lane.moved);
    next = std::min(next, now_us_ + left / lane.bytes_per_us);
  }
  return next;
}

void Rates::take_ended(double now_us, std::vector<uint32_t>& numbers) {
  advance(now_us);
  for (Lane& lane : lanes_) {
    const double reached = lane.moved + kSameTimeUs * lane.bytes_per_us;
    while (!lane.copies.empty() && lane.copies.top().first <= reached) {
      numbers.push_back(lane.copies.top().second);
      lane.copies.pop();
      count(lane, -1);
    }
  }
}

}  // namespace mpc::nbc
