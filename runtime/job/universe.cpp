#include "runtime/job/universe.h"

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

int wanted_universe() noexcept {
  return universe.is_default() ? 0 : static_cast<int>(universe.get());
}

}  // namespace mpc::job
