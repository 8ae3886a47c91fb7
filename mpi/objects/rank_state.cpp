#include "mpi/objects/rank_state.h"

#include "base/check.h"
#include "runtime/job/job.h"

namespace mpc::mpi {

RankState* rank_state_of(int world_rank) noexcept {
  job::Job* job = job::Job::existing();
  if (job == nullptr || world_rank < 0 || world_rank >= job->size()) return nullptr;
  return job->rank(world_rank).mpi;
}

RankState& attached_rank() {
  if (rank_state() == nullptr) job::Job::instance();
  CHECK(rank_state() != nullptr, "the calling thread belongs to no rank");
  return *rank_state();
}

}  // namespace mpc::mpi
