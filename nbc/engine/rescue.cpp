#include "nbc/engine/rescue.h"

#include <mutex>

#include "base/counter.h"
#include "base/settings.h"
#include "base/trace.h"
#include "nbc/engine/engine.h"
#include "nbc/engine/rank_state.h"
#include "runtime/job/job.h"
#include "scheduler/emulation/emulation.h"

namespace mpc::nbc {

#ifdef MPC_WITHOUT_PROGRESS  // see scheduler/progress/progress.h

void expect_rescues(job::Rank&) noexcept {}

RankState* take_state(job::Rank& rank) noexcept {
  return rank.nbc.exchange(nullptr, std::memory_order_acq_rel);
}

#else

namespace {

BoolSetting tick_setting{
    "progress.tick", false,
    "At each timer tick (10 ms) run what waits for a rank that computes, also without "
    "a free "
    "core: the tick's thread takes the time from whoever computes"};

Counter rescue_counter{
    "nbc.rescues", "Times that a progress thread ran nodes kept for a computing rank"};

std::atomic<bool> g_is_registered{false};
// Held during a tick's look at the ranks, and while a rank's state is taken away; a few instructions a rank, never over a switch.
std::mutex g_ranks_mutex;

void run_rescue(sched::ProgressItem& item) noexcept {
  RankState& state = *static_cast<RescueItem&>(item).state;
  rescue_counter.add();
  MPC_TRACE("engine", "rescue", state.rescue.rank->world_rank);
  help_in_background(*state.rescue.rank);
  // release pairs with take_state(): the last touch.
  state.rescue.is_queued.store(false, std::memory_order_release);
}

// On the tick's own thread, as the rank.
void run_here(job::Rank& rank, RescueItem& item) noexcept {
  sched::Execution& self = sched::Execution::self();
  void* const before = self.identity();
  self.set_identity(&rank);
  run_rescue(item);
  self.set_identity(before);
}

void look_at(job::Rank& rank) noexcept {
  RankState* state = RankState::find(rank);
  if (state == nullptr || rank.progress == nullptr) return;
  const void* head = state->list_hint();
  const bool was_there = head != nullptr && head == state->rescue.seen;
  state->rescue.seen = head;
  if (!was_there || state->rescue.is_queued.load(std::memory_order_acquire)) return;
  state->rescue.state = state;
  state->rescue.rank = &rank;
  state->rescue.run = &run_rescue;
  state->rescue.is_queued.store(true, std::memory_order_relaxed);
  constexpr int64_t kWorthWaking = int64_t{1} << 30;
  if (rank.progress->submit(state->rescue, kWorthWaking,
                            sched::ProgressNeed::kFreeCore))
    return;
  if (tick_setting.get()) {
    run_here(rank, state->rescue);
  } else {
    state->rescue.is_queued.store(false, std::memory_order_relaxed);
  }
}

// On the monitor's thread.
void at_tick() noexcept {
  job::Job* job = job::Job::existing();
  if (job == nullptr) return;
  // A tick of an emulated machine takes longer.
  static int ticks = 0;
  if (sched::Emulation::is_on() && ++ticks % sched::Emulation::stretch() != 0) return;
  const std::lock_guard lock(g_ranks_mutex);
  for (int r = 0; r < job->size(); ++r) look_at(job->rank(r));
}

}  // namespace

void expect_rescues(job::Rank& rank) noexcept {
  if (g_is_registered.load(std::memory_order_relaxed)) return;
  if (rank.progress == nullptr || rank.job == nullptr) return;
  if (g_is_registered.exchange(true, std::memory_order_relaxed)) return;
  if (sched::Scheduler* scheduler = rank.job->scheduler())
    scheduler->set_tick_hook(&at_tick);
}

RankState* take_state(job::Rank& rank) noexcept {
  RankState* state = nullptr;
  {
    const std::lock_guard lock(g_ranks_mutex);
    state = rank.nbc.exchange(nullptr, std::memory_order_acq_rel);
  }
  if (state == nullptr || !state->rescue.is_queued.load(std::memory_order_acquire))
    return state;
  if (rank.progress->take(&state->rescue)) return state;
  // It runs at this moment; there is nothing left for it to find.
  while (state->rescue.is_queued.load(std::memory_order_acquire))
    sched::Execution::self().yield();
  return state;
}

#endif

}  // namespace mpc::nbc
