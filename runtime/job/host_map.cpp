#include "runtime/job/host_map.h"

#include <algorithm>
#include <utility>

namespace mpc::job {
namespace {

// Never destroyed: ranks' threads may use it until the process has ended.
HostMap& own_map() noexcept {
  static auto* const map = new HostMap;
  return *map;
}

}  // namespace

HostMap::HostMap(const std::vector<uint64_t>& identities) {
  std::vector<uint64_t> known;
  for (const uint64_t identity : identities) {
    const auto found = std::find(known.begin(), known.end(), identity);
    host_of_.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(identity);
  }
  hosts_ = std::max(static_cast<int>(known.size()), 1);
}

const HostMap& host_map() noexcept { return own_map(); }

void set_host_map(HostMap map) { own_map() = std::move(map); }

}  // namespace mpc::job
