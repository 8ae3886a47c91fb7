#include "mpi/objects/several_jobs.h"

#include <algorithm>
#include <span>

#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"

namespace mpc::mpi {
namespace {

constinit OpenProcess g_open = nullptr;  // set before ranks start

}  // namespace

void set_open_process(OpenProcess open) noexcept { g_open = open; }

Opened open_process(job::Job& job, const std::string& place) {
  return g_open(job, place);
}

// The position of the first member that is of the caller's job, where both groups count in the same order.
int job_among(const Comm& comm) noexcept {
  const auto first_in = [](std::span<const int> ranks) {
    const auto first = std::ranges::find_if(
        ranks, [](int rank) { return job::neighbours::slot_of(rank) == 0; });
    return static_cast<int>(first - ranks.begin());
  };
  const int mine = first_in(comm.world_ranks());
  if (!comm.is_inter() || comm.is_low_group()) return mine;
  const int theirs = first_in(comm.remote_group()->world_ranks());
  return theirs < comm.remote_size() ? theirs : comm.remote_size() + mine;
}

}  // namespace mpc::mpi
