#include "mpi/objects/rank_life.h"

#include <atomic>

#include "mpi/objects/check.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/fault.h"
#include "mpi/objects/group.h"
#include "mpi/objects/info.h"
#include "mpi/objects/parent.h"
#include "mpi/objects/process.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "runtime/job/job.h"
#include "runtime/message/abroad.h"
#include "runtime/message/job_watch.h"
#include "runtime/message/losses.h"
#include "runtime/message/network.h"

namespace mpc::mpi {
namespace {

// For a process that is its own rank. Written by create_predefined_comms(), release.
constinit std::atomic<bool> g_has_one_caller{false};

void rank_starts(job::Rank& rank) {
  msg::create_mailbox(rank);
  auto* state = new RankState;
  state->rank = &rank;
  state->requests = std::make_shared<RequestPool>();
  rank.mpi = state;
}

void rank_ends(job::Rank& rank) {
  auto* state = rank.mpi;
  report_what_is_left_at_end(*state);
  state->watch.reset();  // it holds communicators
  if (Comm* const parent = forget_parent(rank, nullptr)) parent->drop();
  if (state->world != nullptr) state->world->drop();
  if (state->self != nullptr) state->self->drop();
  delete state->empty_group;
  delete state->env;
  delete state;
  rank.mpi = nullptr;
  msg::destroy_mailbox(rank);
}

Result<> job_starts(job::Job& job) {
  Process::listen(job.processes());
  msg::prepare_job_watch(
      job, [] { return g_has_one_caller.load(std::memory_order_acquire); });
  if (job.has_other_processes()) {
    MPC_TRY(msg::open_process_network(job));
    if (job::losses::are_survived()) MPC_TRY(msg::watch_losses(job));
  } else {
    auto config = transport::LoopbackConfig::from_settings();
    config.is_outside_work = false;  // it is counted, as between real processes
    MPC_TRY(msg::open_network(job.processes(), config));
  }
  return msg::start_job_watch();
}

void job_is_over(job::Job&) {
  report_fault_counts();
  msg::stop_job_watch();
  msg::close_network();
}

[[gnu::constructor]] void register_hooks() {
  job::Job::at_wireup(job::HookOrder::kMpi, msg::load_process_network);
  job::Job::at_job_start(job::HookOrder::kMpi, job_starts);
  job::Job::at_job_over(job::HookOrder::kMpi, job_is_over);
  job::Job::at_job_end(job::HookOrder::kMpi, [](job::Job&) { msg::abroad::abandon(); });
  job::Job::at_rank_start(job::HookOrder::kMpi, rank_starts);
  job::Job::at_rank_end(job::HookOrder::kMpi, rank_ends);
}

}  // namespace

void create_predefined_comms(RankState& state) {
  job::Rank& rank = *state.rank;
  if (rank.job->is_singleton() && state.thread_level < MPI_THREAD_SERIALIZED)
    g_has_one_caller.store(true, std::memory_order_release);
  Comm::Spec world;
  world.predefined = MPI_COMM_WORLD;
  const job::World mine = rank.job->world_of(rank.world_rank);
  world.group = world_group(mine);
  world.rank = rank.world_rank - mine.first;
  world.context = kWorldContext;
  world.reserve = kWorldReserve;
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
