// Collectives that some members never call (mpi.check=full).

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "mpi/objects/callers_room.h"
#include "mpi/objects/check.h"
#include "mpi/objects/process.h"
#include "mpi/objects/rank_state.h"
#include "runtime/job/job.h"
#include "runtime/job/losses.h"

namespace mpc::mpi {
namespace {

// The collectives to which some members of this process have come, and others have not.
std::vector<std::shared_ptr<Room>> open_checks(Process& process) {
  std::vector<std::shared_ptr<Room>> open;
  for (Hall::Shard& shard : process.hall.shards()) {
    const PatientGuard table(shard.mutex);
    for (const auto& [key, entry] : shard.rooms)
      if (key.kind == MeetingKind::kCheck) open.push_back(entry.room);
  }
  return open;
}

// If the rank has called this collective, and another one, which is in `call` as well, has not.
void report_missing(const job::Rank& self, const CallersRoom& room, const char* call) {
  const auto is = [](int rank) {
    return [rank](const Caller& caller) { return caller.world_rank == rank; };
  };
  const auto mine = std::ranges::find_if(room.callers, is(self.world_rank));
  if (mine == room.callers.end()) return;
  const job::ProcessMap& map = self.job->processes();
  const auto& ranks = room.group->world_ranks();
  const auto missing = std::ranges::find_if(ranks, [&](int rank) {
    return map.process_of(rank) == map.process_of(self.world_rank) &&
           std::ranges::none_of(room.callers, is(rank));
  });
  if (missing == ranks.end()) return;
  report_fault("collective calls differ", mine->place, {}, [&] {
    return fmt::format(
        "only {} of {} members have called it when all are in {}, on {}\n"
        "  {} of rank {}\n  not called by rank {}",
        room.arrived, room.expected, call, room.comm, call_at(mine->name, mine->place),
        self.world_rank, *missing);
  });
}

}  // namespace

void report_missing_calls(const RankState& state, const char* call) {
  const job::Rank& self = *state.rank;
  if (job::losses::any()) return;
  const auto is_of_world = [&](int rank) {
    return state.world->group()->index_of(rank) >= 0;
  };
  for (const auto& room : open_checks(Process::of(self))) {
    const PatientGuard inside(room->mutex);
    const auto& check = static_cast<const CallersRoom&>(*room);
    // With ranks of other worlds, these may come yet.
    if (check.group != nullptr &&
        std::ranges::all_of(check.group->world_ranks(), is_of_world))
      report_missing(self, check, call);
  }
}

}  // namespace mpc::mpi
