#include "nbc/model/network.h"

#include <algorithm>
#include <limits>

#include "nbc/model/levels.h"

namespace mpc::nbc {

namespace {

// One after the other; segments of both overlap.
double joined_us(double a, double b, int64_t segments) {
  return segments == 1
             ? a + b
             : std::max(a, b) + std::min(a, b) / static_cast<double>(segments);
}

}  // namespace

std::vector<double> network_levels(const Situation& s, const Parameters& p,
                                   int64_t segments, bool reduces) {
  const int height = tree_height(s.hosts);
  std::vector<double> levels;
  for (int level = 0; level < height; ++level) {
    const int64_t step = int64_t{1} << (height - 1 - level);
    const int64_t blocks = traits_of(s.coll).gathers_on_the_way()
                               ? std::min(step, s.hosts - step) * s.ranks
                               : 1;
    const double latency = network_us(p, 0);
    double fixed = 2 * p.node_us + p.message_us + latency;
    double bytes = network_us(p, s.bytes * blocks) - latency;
    if (reduces) {
      fixed += p.node_us;
      bytes += reduce_us(p, s.bytes);
    }
    levels.push_back(fixed * static_cast<double>(segments) + bytes);
  }
  return levels;
}

std::vector<SplitTime> with_network(const Situation& s, int64_t segments,
                                    const Parameters& p, std::vector<SplitTime> times) {
  const bool reduces = traits_of(s.coll).is_reduction;
  const bool both = s.coll == Coll::kAllreduce;
  std::vector<double> levels = network_levels(s, p, segments, reduces);
  const std::vector<double> down = network_levels(s, p, segments, false);
  const double handover = (both ? 2 : 1) * p.handover_us;
  double folded =
      s.communication_cores < 1 ? std::numeric_limits<double>::infinity() : 0;
  for (size_t level = 0; level < levels.size(); ++level) {
    if (both) levels[level] += down[level];
    folded += levels[level] + handover;
  }
  for (SplitTime& time : times) {
    time.folded_us = joined_us(time.folded_us, folded, segments);
    time.together_us = joined_us(time.together_us, folded, segments);
  }
  const SplitTime host = times.back();
  double kept = 0;
  for (size_t level = levels.size(); level-- > 0;) {
    kept += levels[level];
    folded = level == 0 ? 0 : folded - levels[level] - handover;
    const double all_kept = joined_us(host.kept_us, kept, segments);
    times.push_back({times.back().split + 1, all_kept, folded,
                     joined_us(all_kept, folded, segments)});
  }
  return times;
}

}  // namespace mpc::nbc
