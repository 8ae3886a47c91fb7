#include "mpi/objects/process_list.h"

#include <algorithm>
#include <map>

namespace mpc::mpi {

ProcessList::ProcessList(const job::ProcessMap& map,
                         std::initializer_list<std::span<const int>> groups) {
  std::map<int, int> counts;
  for (const std::span<const int> group : groups)
    for (const int world_rank : group) ++counts[map.process_of(world_rank)];
  for (const auto& [process, members] : counts) {
    processes_.push_back(process);
    members_.push_back(members);
  }
}

int ProcessList::index_of(int process) const noexcept {
  const auto at = std::lower_bound(processes_.begin(), processes_.end(), process);
  if (at == processes_.end() || *at != process) return -1;
  return static_cast<int>(at - processes_.begin());
}

int ProcessList::members_in(int process) const noexcept {
  const int index = index_of(process);
  return index < 0 ? 0 : members_[static_cast<size_t>(index)];
}

}  // namespace mpc::mpi
