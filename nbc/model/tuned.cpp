#include "nbc/model/tuned.h"

#include <algorithm>
#include <cmath>

namespace mpc::nbc {
namespace {

constexpr double kWorthIt = 0.95;  // else the clock says so, not the machine

}  // namespace

int64_t best_limit(const LimitFacts& facts, const std::vector<TunedTime>& times) {
  const int64_t built_in = facts.built_in;
  if (times.empty()) return built_in;
  // Sums of logarithms: each size counts alike.
  const auto cost = [&](int64_t limit) {
    double sum = 0;
    for (const TunedTime& time : times)
      sum += std::log(std::max(
          1e-6, goes_below(facts, time.bytes, limit) ? time.below_us : time.above_us));
    return sum;
  };
  std::vector<int64_t> limits;
  if (facts.is_inclusive) limits.push_back(times.front().bytes / 2);
  for (const TunedTime& time : times) limits.push_back(time.bytes);
  if (!facts.is_inclusive) limits.push_back(2 * times.back().bytes);
  int64_t best = built_in;
  for (const int64_t limit : limits)
    if (cost(limit) < cost(best)) best = limit;
  const auto between = std::count_if(times.begin(), times.end(), [&](const auto& time) {
    return goes_below(facts, time.bytes, best) !=
           goes_below(facts, time.bytes, built_in);
  });
  if (between == 0) return built_in;
  const double gain =
      std::exp((cost(best) - cost(built_in)) / static_cast<double>(between));
  return gain <= kWorthIt ? best : built_in;
}

}  // namespace mpc::nbc
