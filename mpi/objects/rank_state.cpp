#include "mpi/objects/rank_state.h"

#include "base/check.h"
#include "runtime/job/job.h"

namespace mpc::mpi {

RankState* rank_state_of(int world_rank) noexcept {
  job::Job* job = job::Job::existing();
  job::Rank* const rank = job != nullptr ? job->find(world_rank) : nullptr;
  return rank != nullptr ? rank->mpi : nullptr;
}

RankState& attached_rank() {
  if (rank_state() == nullptr) job::Job::instance();
  CHECK(rank_state() != nullptr, "the calling thread belongs to no rank");
  return *rank_state();
}

}  // namespace mpc::mpi
