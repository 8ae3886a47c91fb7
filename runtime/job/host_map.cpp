#include "runtime/job/host_map.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "runtime/job/neighbours.h"
#include "runtime/wireup/place.h"

namespace mpc::job {
namespace {

constinit std::array<std::atomic<uint64_t>, neighbours::kMostSlots + 2> g_neighbours{};

// Never destroyed: ranks' threads may use it until the process has ended.
HostMap& own_map() noexcept {
  static auto* const map = new HostMap;
  return *map;
}

}  // namespace

HostMap::HostMap(std::vector<uint64_t> identities)
    : identities_(std::move(identities)) {
  std::vector<uint64_t> known;
  for (const uint64_t identity : identities_) {
    const auto found = std::find(known.begin(), known.end(), identity);
    host_of_.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(identity);
  }
  hosts_ = std::max(static_cast<int>(known.size()), 1);
}

// Read from the system once, where somebody asks.
uint64_t HostMap::identity_of(int process) const {
  static const uint64_t own = wireup::host_identity();
  return identities_.empty() ? own : identities_[static_cast<size_t>(process)];
}

const HostMap& host_map() noexcept { return own_map(); }

void set_host_map(HostMap map) { own_map() = std::move(map); }

// Release, acquire: whoever has the number of such a rank has it from the thread that has connected.
uint64_t host_of_neighbour(int slot) noexcept {
  return g_neighbours[static_cast<size_t>(slot)].load(std::memory_order_acquire);
}
void set_host_of_neighbour(int slot, uint64_t identity) noexcept {
  g_neighbours[static_cast<size_t>(slot)].store(identity, std::memory_order_release);
}

}  // namespace mpc::job
