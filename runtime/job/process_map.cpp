#include "runtime/job/process_map.h"

#include <algorithm>

namespace mpc::job {

ProcessMap::ProcessMap(int ranks) : starts_{0, ranks} {}

ProcessMap ProcessMap::in_blocks(int ranks, int processes) {
  ProcessMap map(ranks);
  const int n = std::clamp(processes, 1, std::max(ranks, 1));
  map.starts_.clear();
  for (int process = 0; process < n; ++process) {
    map.starts_.push_back(
        static_cast<int>(static_cast<long long>(ranks) * process / n));
  }
  map.starts_.push_back(ranks);
  return map;
}

ProcessMap ProcessMap::of_sizes(const std::vector<int>& sizes) {
  ProcessMap map(0);
  map.starts_.resize(1);
  for (const int size : sizes) map.starts_.push_back(map.starts_.back() + size);
  return map;
}

}  // namespace mpc::job
