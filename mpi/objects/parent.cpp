#include "mpi/objects/parent.h"

#include <numeric>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {
namespace {

// No place of a communicator has this bit, nor one of groups (mpi/comm/from_groups.cpp). The number of a
// spawned rank never comes again.
uint64_t place_of_children(const job::World& children) noexcept {
  return uint64_t{1} << 62 | static_cast<uint64_t>(children.first);
}

// Of spawned ranks only, and looked up in few calls: not worth a word in the state of each rank.
constinit Mutex g_lock;
std::unordered_map<int, Comm*>& parents() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::unordered_map<int, Comm*>;  // for ever
  return *all;
}

}  // namespace

GroupRef world_group(const job::World& world) {
  if (world.first == 0) return GroupTable::world(world.size);
  std::vector<int> ranks(static_cast<size_t>(world.size));
  std::iota(ranks.begin(), ranks.end(), world.first);
  return GroupTable::make(std::move(ranks));
}

Comm* parent_of(const job::Rank& rank) {
  const Locked lock(g_lock);
  const auto found = parents().find(rank.world_rank);
  return found != parents().end() ? found->second : nullptr;
}

Comm* forget_parent(const job::Rank& rank, const Comm* comm) {
  const Locked lock(g_lock);
  const auto found = parents().find(rank.world_rank);
  if (found == parents().end()) return nullptr;
  Comm* const parent = found->second;
  if (comm != nullptr && parent != comm) return nullptr;
  parents().erase(found);
  return parent;
}

Err meet_parent(RankState& state) {
  job::Rank& rank = *state.rank;
  const job::World mine = rank.job->world_of(rank.world_rank);
  if (mine.parent < 0) return kSuccess;
  Comm& world = *state.world;
  const bool leads = world.rank() == 0;
  Learnt learnt;
  if (leads)
    meet_other_leader(rank, world.group(), mine.parent, place_of_children(mine), 0,
                      "MPI_Init", &learnt);
  Comm::Spec spec;
  MPC_MPI_TRY(learn_from_leader(rank, meeting_key(MeetingKind::kInterCreate, world),
                                world.group(), leads ? &learnt : nullptr, "MPI_Init",
                                &spec));
  Comm* const parent = create_comm(world, spec);
  parent->name = "MPI_COMM_PARENT";
  parent->exempt();  // nobody has asked for it
  const Locked lock(g_lock);
  parents()[rank.world_rank] = parent;
  return kSuccess;
}

void meet_children(job::Rank& self, const GroupRef& group, const job::World& children,
                   const char* what, Learnt* out) {
  meet_other_leader(self, group, children.first, place_of_children(children), 0, what,
                    out);
}

}  // namespace mpc::mpi
