#include "nbc/engine/overdue_nodes.h"

#include <mutex>

#include "base/counter.h"
#include "base/settings.h"
#include "base/trace.h"
#include "runtime/job/job.h"
#include "scheduler/emulation/emulation.h"

namespace mpc::nbc {

namespace {

BoolSetting tick_setting{
    "progress.tick", false,
    "At each timer tick (10 ms) run what waits for a rank that computes, also without "
    "a free "
    "core: the tick's thread takes the time from whoever computes"};

Counter overdue_counter{
    "nbc.rescues", "Times that a progress thread ran nodes kept for a computing rank"};

// Set once, by the first caller that expects nodes; null before.
std::atomic<RunKeptNodes> g_run_kept_nodes{nullptr};
// Held while a tick checks the ranks, and while a rank's engine is taken away; a few
// instructions per rank, never over a switch.
std::mutex g_ranks_mutex;

void run_item(sched::ProgressItem& item) noexcept {
  OverdueItem& overdue = static_cast<OverdueItem&>(item);
  overdue_counter.add();
  MPC_TRACE("engine", "rescue", overdue.rank->world_rank);
  // Acquire pairs with expect_overdue_nodes(); without it there were no ticks.
  g_run_kept_nodes.load(std::memory_order_acquire)(*overdue.rank);
  // Release pairs with take_engine(): the last touch.
  overdue.is_queued.store(false, std::memory_order_release);
}

// Runs the item on the tick's own thread, as the rank.
void run_here(OverdueItem& item) noexcept {
  sched::Execution& self = sched::Execution::self();
  void* const before = self.identity();
  self.set_identity(item.rank);
  run_item(item);
  self.set_identity(before);
}

void look_at(job::Rank& rank) noexcept {
  RankEngine* engine = RankEngine::find(rank);
  if (engine == nullptr || rank.progress == nullptr) return;
  OverdueItem& item = engine->overdue;
  const void* newest = engine->newest_kept();
  const bool was_there = newest != nullptr && newest == item.seen;
  item.seen = newest;
  if (!was_there || item.is_queued.load(std::memory_order_acquire)) return;
  item.rank = &rank;
  item.run = &run_item;
  item.is_queued.store(true, std::memory_order_relaxed);
  constexpr int64_t kWorthWaking = int64_t{1} << 30;
  if (rank.progress->submit(item, kWorthWaking, sched::ProgressNeed::kFreeCore)) return;
  if (tick_setting.get()) {
    run_here(item);
  } else {
    item.is_queued.store(false, std::memory_order_relaxed);
  }
}

// Called on the monitor's thread.
void at_tick() noexcept {
  job::Job* job = job::Job::existing();
  if (job == nullptr) return;
  // A tick of an emulated machine is longer.
  static int ticks = 0;
  if (sched::Emulation::is_on() && ++ticks % sched::Emulation::stretch() != 0) return;
  const std::lock_guard lock(g_ranks_mutex);
  const job::RankRange local = job->local_ranks();
  for (int r = local.first; r < local.end; ++r) look_at(job->rank(r));
}

}  // namespace

void expect_overdue_nodes(job::Rank& rank, RunKeptNodes run) noexcept {
  if (g_run_kept_nodes.load(std::memory_order_relaxed) != nullptr) return;
  if (rank.progress == nullptr || rank.job == nullptr) return;
  // Release pairs with run_item().
  if (g_run_kept_nodes.exchange(run, std::memory_order_release) != nullptr) return;
  if (sched::Scheduler* scheduler = rank.job->scheduler())
    scheduler->set_tick_hook(&at_tick);
}

RankEngine* take_engine(job::Rank& rank) noexcept {
  RankEngine* engine = nullptr;
  {
    const std::lock_guard lock(g_ranks_mutex);
    engine = rank.nbc.exchange(nullptr, std::memory_order_acq_rel);
  }
  if (engine == nullptr || !engine->overdue.is_queued.load(std::memory_order_acquire))
    return engine;
  if (rank.progress->take(&engine->overdue)) return engine;
  // The item runs at this moment; there is nothing left for it to find.
  while (engine->overdue.is_queued.load(std::memory_order_acquire))
    sched::Execution::self().yield();
  return engine;
}

}  // namespace mpc::nbc
