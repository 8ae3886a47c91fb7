#include "mpi/rank_state.h"

#include "mpi/attributes.h"
#include "mpi/comm.h"
#include "mpi/errhandler.h"
#include "mpi/group.h"
#include "mpi/handles.h"
#include "mpi/info.h"
#include "mpi/request.h"
#include "mpi/type_object.h"
#include "runtime/job/job.h"

namespace mpc::mpi {
namespace {

void rank_starts(job::Rank& rank) {
  msg::create_mailbox(rank);
  auto* state = new RankState;
  state->rank = &rank;
  rank.mpi = state;
}

void rank_ends(job::Rank& rank) {
  delete static_cast<RankState*>(rank.mpi);
  rank.mpi = nullptr;
  msg::destroy_mailbox(rank);
}

[[gnu::constructor]] void register_hooks() {
  job::Job::at_rank_start(rank_starts);
  job::Job::at_rank_end(rank_ends);
}

}  // namespace

RankState::RankState() : requests(std::make_shared<RequestPool>()) {}

RankState::~RankState() {
  if (world != nullptr) world->drop();
  if (self != nullptr) self->drop();
  delete empty_group;
  delete env;
}

RankState* rank_state_of(int world_rank) noexcept {
  job::Job* job = job::Job::existing();
  if (job == nullptr || world_rank < 0 || world_rank >= job->size()) return nullptr;
  return static_cast<RankState*>(job->rank(world_rank).mpi);
}

RankState& attached_rank() {
  if (rank_state() == nullptr) job::Job::instance();
  CHECK(rank_state() != nullptr, "the calling thread belongs to no rank");
  return *rank_state();
}

void create_predefined_comms(RankState& state) {
  job::Rank& rank = *state.rank;
  Comm::Spec world;
  world.predefined = MPI_COMM_WORLD;
  world.group = GroupTable::world(rank.world_size);
  world.rank = rank.world_rank;
  world.context = kWorldContext;
  state.world = new Comm(rank, world);
  state.world->name = "MPI_COMM_WORLD";
  state.world->exempt();
  Comm::Spec self;
  self.predefined = MPI_COMM_SELF;
  self.group = GroupTable::make({rank.world_rank});
  self.context = kSelfContext;
  state.self = new Comm(rank, self);
  state.self->exempt();
  state.self->name = "MPI_COMM_SELF";
}

}  // namespace mpc::mpi
