#include "mpi/objects/process.h"

#include <vector>

#include "runtime/job/job.h"

namespace mpc::mpi {
namespace {

Process& the_only_one() {
  static Process* const process = new Process(0, 1, nullptr);
  return *process;
}

// Cost: as the_only_one() after the first call.
Process& one_of_several(const job::ProcessMap& map, int index) {
  using Processes = std::vector<std::unique_ptr<Process>>;
  static Processes* const all = [&map] {
    auto* made = new Processes;
    auto* exchange = new MemoryExchange;
    for (int i = 0; i < map.processes(); ++i)
      made->push_back(std::make_unique<Process>(i, map.processes(), exchange));
    return made;
  }();
  return *(*all)[static_cast<size_t>(index)];
}

}  // namespace

Process& Process::of(const job::Rank& rank) {
  const job::ProcessMap& map = rank.job->processes();
  if (map.is_one_process()) [[likely]]
    return the_only_one();
  return one_of_several(map, map.process_of(rank.world_rank));
}

Process& Process::of_all(const job::Rank& rank) {
  const job::ProcessMap& map = rank.job->processes();
  return map.is_one_process() ? the_only_one() : one_of_several(map, 0);
}

}  // namespace mpc::mpi
