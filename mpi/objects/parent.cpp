#include "mpi/objects/parent.h"

#include <numeric>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/rank_state.h"
#include "runtime/job/spawner.h"
#include "runtime/job/spawner_watch.h"

namespace mpc::mpi {
namespace {

// Neither the place of a communicator nor one of groups (mpi/comm/from_groups.cpp) has this bit.
// The number of a spawned rank is never used again.
uint64_t place_of_children(const job::World& children) noexcept {
  return uint64_t{1} << 62 | static_cast<uint64_t>(children.first);
}

constinit ConnectToSpawner g_connect = nullptr;  // before ranks start

// Only spawned ranks have an entry, and few calls look it up: not worth a word in the state of
// each rank.
constinit Mutex g_lock;
std::unordered_map<int, Comm*>& parents() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::unordered_map<int, Comm*>;  // never destroyed
  return *all;
}

// For ranks that were spawned by ranks of this process.
Err meet_parent_here(job::Rank& rank, Comm& world, const job::World& mine, Comm** out) {
  const bool leads = world.rank() == 0;
  const MeetingKey key = meeting_key(MeetingKind::kInterCreate, world);
  Learnt learnt;
  if (leads)
    meet_other_leader(rank, key, world.group(), mine.parent,
                      {place_of_children(mine), 0, "MPI_Init"}, &learnt);
  Comm::Spec spec;
  MPC_MPI_TRY(learn_from_leader(rank, key, world.group(), leads ? &learnt : nullptr,
                                "MPI_Init", &spec));
  *out = create_comm(world, spec);
  return kSuccess;
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

void set_connect_to_spawner(ConnectToSpawner connect) noexcept { g_connect = connect; }

Err meet_parent(RankState& state) {
  job::Rank& rank = *state.rank;
  Comm& world = *state.world;
  const job::World mine = rank.job->world_of(rank.world_rank);
  Comm* parent = nullptr;
  if (mine.parent >= 0) {
    MPC_MPI_TRY(meet_parent_here(rank, world, mine, &parent));
  } else if (mine.first == 0 && !job::spawner().empty()) {
    job::end_spawner_watch();
    MPC_MPI_TRY(g_connect(world, job::spawner(), &parent));
  } else {
    return kSuccess;
  }
  parent->name = "MPI_COMM_PARENT";
  parent->exempt();  // the user has not asked for it
  const Locked lock(g_lock);
  parents()[rank.world_rank] = parent;
  return kSuccess;
}

void meet_children(job::Rank& self, const MeetingKey& key, const GroupRef& group,
                   const job::World& children, const char* what, Learnt* out) {
  meet_other_leader(self, key, group, children.first,
                    {place_of_children(children), 0, what}, out);
}

}  // namespace mpc::mpi
