#include "runtime/job/universe.h"

#include <algorithm>

#include "base/settings.h"

namespace mpc::job {
namespace {

IntSetting universe{
    "job.universe_size",
    0,
    "ranks",
    "Cores are chosen as for so many ranks, some of which MPI_Comm_spawn may start "
    "later; it is MPI_UNIVERSE_SIZE, too. 0: as many as there are at the start, or a "
    "rank for each core if a program calls MPI_Comm_spawn",
    0,
    100000};

}  // namespace

namespace {

constinit int g_cores = 0;

}  // namespace

int universe_of(int ranks) noexcept {
  if (wanted_universe() != 0) return std::max(ranks, wanted_universe());
  return g_cores > ranks ? g_cores : 0;
}

void set_cores_of_job(int cores) noexcept { g_cores = cores; }

int wanted_universe() noexcept {
  return universe.is_default() ? 0 : static_cast<int>(universe.get());
}

}  // namespace mpc::job
