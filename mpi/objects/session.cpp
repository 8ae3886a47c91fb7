#include "mpi/objects/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mpi/objects/check.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/made.h"
#include "mpi/objects/rank_state.h"
#include "runtime/job/host_map.h"
#include "runtime/job/hosted_process.h"
#include "runtime/job/job.h"
#include "runtime/job/lone_child.h"

namespace mpc::mpi {

Session::Session(int owner, std::string name, InfoHints used)
    : Object(Kind::kSession, owner),
      name_(std::move(name)),
      used_(std::move(used)),
      errhandler_(Errhandler::fatal()),
      buffer_(std::make_shared<SessionBuffer>()) {}

Session::~Session() { errhandler_->drop(); }

void Session::set_errhandler(Errhandler& handler) noexcept {
  handler.retain();
  std::exchange(errhandler_, &handler)->drop();
}

Session* Session::begin(RankState& state, int thread_level, InfoHints used,
                        Errhandler& handler) {
  prepare_rank(state);
  const std::lock_guard lock(state.mutex);
  auto* session =
      new Session(state.rank->world_rank,
                  fmt::format("session {}", ++state.sessions_begun), std::move(used));
  session->set_errhandler(handler);
  // Never lowered, and not rewritten when other threads may be reading it.
  if (thread_level > state.thread_level) state.thread_level = thread_level;
  ++state.sessions;
  update_running(state);
  return session;
}

bool Session::is_last(RankState& state) noexcept {
  const std::lock_guard lock(state.mutex);
  return state.sessions == 1 && !state.is_in_world();
}

void Session::end(RankState& state) noexcept {
  mark_freed();
  forget_handle(*this);
  {
    const std::lock_guard lock(state.mutex);
    --state.sessions;
    update_running(state);
  }
  delete this;
}

void prepare_rank(RankState& state) {
  job::Rank& rank = *state.rank;
  // For as many ranks as a job may have: some may be spawned.
  if (is_checking()) note_objects(100000);
  const std::lock_guard lock(state.mutex);
  if (state.predefined.universe_size != 0) return;
  const job::World world = rank.job->world_of(rank.world_rank);
  const int universe = rank.job->universe_size();
  // A universe as large as their own job would tell spawned ranks that nothing can be spawned.
  const bool has_universe = universe > 0 && (world.parent < 0 || universe > world.size);
  state.predefined = {
      .tag_ub = 0x7fffffff,
      .io = MPI_ANY_SOURCE,
      .host = MPI_PROC_NULL,
      .wtime_is_global = job::host_map().hosts() == 1,  // a clock for each
      .appnum = rank.app_index - world.first_app,
      .last_used_code = state.predefined.last_used_code != 0
                            ? state.predefined.last_used_code
                            : MPI_ERR_LASTCODE,
      .universe_size = has_universe ? universe : -1,  // 0: this has not been done
  };
}

void update_running(RankState& state) noexcept {
  const bool is_running = state.is_in_world() || state.sessions > 0;
  // release: for threads of the rank, which know by their own means that MPI has begun.
  (is_checking() ? state.is_checked : state.is_running)
      .store(is_running, std::memory_order_release);
  const bool has_run =
      state.sessions_begun > 0 || state.initialised.load(std::memory_order_relaxed);
  if (!is_running && !has_run) return;
  state.rank->phase.store(is_running ? job::kInMpi : job::kAfterFinalize,
                          std::memory_order_relaxed);  // see job::Rank
  if (is_running)
    job::note_that_ranks_use_mpi();
  else
    job::note_finalized(*state.rank);
}

void note_world_change(RankState& state) noexcept {
  const std::lock_guard lock(state.mutex);
  update_running(state);
}

int clamp_thread_level(int required) noexcept {
  if (required >= MPI_THREAD_MULTIPLE) return MPI_THREAD_MULTIPLE;
  if (required >= MPI_THREAD_SERIALIZED) return MPI_THREAD_SERIALIZED;
  if (required >= MPI_THREAD_FUNNELED) return MPI_THREAD_FUNNELED;
  return MPI_THREAD_SINGLE;
}

}  // namespace mpc::mpi
