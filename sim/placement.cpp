#include "sim/placement.h"

#include <algorithm>

#include "base/check.h"
#include "topology/fingerprint.h"
#include "topology/spread.h"

namespace mpc::sim {

namespace {

// Repeats the numbers for each host, whose cores have the next numbers.
void repeat(std::vector<int>& numbers, int hosts, int cores) {
  const size_t count = numbers.size();
  for (int host = 1; host < hosts; ++host)
    for (size_t i = 0; i < count; ++i)
      numbers.push_back(numbers[i] < 0 ? -1 : numbers[i] + host * cores);
}

}  // namespace

Placement place(const topo::Machine& machine, int ranks, int hosts) {
  const int cores = machine.core_count(), helpers = cores - ranks;
  CHECK(ranks >= 1 && helpers >= 0, "more ranks than cores");
  Placement result;
  result.core_count = cores * hosts;
  result.communication_cores = topo::spread(cores, helpers);
  const auto& picked = result.communication_cores;
  for (int core = 0; core < cores; ++core)
    if (!std::binary_search(picked.begin(), picked.end(), core))
      result.core_of_rank.push_back(core);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto nearest =
        static_cast<size_t>(static_cast<int64_t>(rank) * helpers / ranks);
    result.helper_of_rank.push_back(helpers == 0 ? -1
                                                 : result.communication_cores[nearest]);
  }
  for (std::vector<int>* numbers :
       {&result.core_of_rank, &result.helper_of_rank, &result.communication_cores})
    repeat(*numbers, hosts, cores);
  return result;
}

nbc::Reach reach_between(const topo::Machine& machine, int core_a, int core_b) {
  const topo::Level level = machine.shared_level(core_a, core_b);
  if (level <= topo::Level::kL3) return nbc::Reach::kCache;
  return machine.core(core_a).numa == machine.core(core_b).numa ? nbc::Reach::kNuma
                                                                : nbc::Reach::kMachine;
}

nbc::MachineShape shape_of(const topo::Machine& machine) {
  const topo::Outline outline = topo::outline(machine);
  return {outline.cores, outline.cores_per_cache, outline.cores_per_numa};
}

}  // namespace mpc::sim
