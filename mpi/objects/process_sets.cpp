#include "mpi/objects/process_sets.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "mpi/objects/parent.h"
#include "runtime/job/host_map.h"
#include "runtime/job/job.h"
#include "scheduler/scheduler.h"
#include "topology/machine.h"

namespace mpc::mpi {
namespace {

// The ranks for which `belongs` is true.
template <class Belongs>
GroupRef select(const job::RankRange& from, Belongs belongs) {
  std::vector<int> ranks;
  for (int rank = from.first; rank < from.end; ++rank)
    if (belongs(rank)) ranks.push_back(rank);
  return GroupTable::make(std::move(ranks));
}

// The ranks that were started together with this one.
job::RankRange world_of(const job::Rank& self) {
  const job::World world = self.job->world_of(self.world_rank);
  return {world.first, world.first + world.size};
}

// Those of them that live in its process.
job::RankRange here_of(const job::Rank& self) {
  const job::ProcessMap& map = self.job->processes();
  return map.is_one_process() ? world_of(self)
                              : map.ranks_of(map.process_of(self.world_rank));
}

GroupRef of_host(const job::Rank& self) {
  const job::ProcessMap& map = self.job->processes();
  const job::HostMap& hosts = job::host_map();
  const int mine = hosts.host_of(map.process_of(self.world_rank));
  return select(world_of(self),
                [&](int rank) { return hosts.host_of(map.process_of(rank)) == mine; });
}

GroupRef of_process(const job::Rank& self) {
  return select(here_of(self), [](int) { return true; });
}

// Where a rank was placed at its start; which cores another process has is not known here.
int numa_node_of(job::Job& job, int world_rank) {
  const int core = job.scheduler()->core_of_worker(job.worker_of(world_rank));
  return job.machine()->core(core).numa;
}

GroupRef of_numa_node(const job::Rank& self) {
  job::Job& job = *self.job;
  if (job.scheduler() == nullptr || job.machine() == nullptr) return of_process(self);
  const int mine = numa_node_of(job, self.world_rank);
  return select(here_of(self),
                [&](int rank) { return numa_node_of(job, rank) == mine; });
}

}  // namespace

GroupRef members_of_set(const job::Rank& self, std::string_view name) {
  // MPI-4.1 section 11.3.2: the case of letters does not matter.
  const auto is = [name](std::string_view known) {
    return std::equal(name.begin(), name.end(), known.begin(), known.end(),
                      [](unsigned char a, unsigned char b) {
                        return std::tolower(a) == std::tolower(b);
                      });
  };
  if (is("mpi://WORLD")) return world_group(self.job->world_of(self.world_rank));
  if (is("mpi://SELF")) return GroupTable::make({self.world_rank});
  if (is("mpc://host")) return of_host(self);
  if (is("mpc://process")) return of_process(self);
  if (is("mpc://numa")) return of_numa_node(self);
  return nullptr;
}

}  // namespace mpc::mpi
