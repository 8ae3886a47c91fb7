#include "runtime/job/report.h"

#include <fmt/format.h>

#include <atomic>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/thread_safety.h"

namespace mpc::job {
namespace {

constinit Mutex g_lock;
constinit TableSource* g_source MPC_GUARDED_BY(g_lock) = nullptr;

std::string phase_text(int phase) {
  switch (phase) {
    case kStarting:
      return "not started yet";
    case kBeforeInit:
      return "running, before MPI_Init";
    case kAfterFinalize:
      return "running, after MPI_Finalize";
    case kEnded:
      return "ended";
    default:
      return "running in its own code";
  }
}

std::string describe(const sched::Execution& execution, Rank& rank) {
  // Relaxed: only compared. The report may be written while ranks are still being started.
  const bool main_thread =
      std::atomic_ref(rank.execution).load(std::memory_order_relaxed) == &execution;
  const char* call = execution.call();
  std::string text;
  if (const sched::WaitReason* reason = execution.wait_reason()) {
    text = fmt::format("waits in {}", reason->text());
  } else if (call != nullptr) {
    text = fmt::format("runs in {}", call);
  } else {
    text = phase_text(rank.phase.load(std::memory_order_acquire));
  }
  return main_thread ? text : "a thread of the rank " + text;
}

}  // namespace

StateTable state_rows(Job& job, RankRange ranks) {
  std::vector<StateRow> rows;
  std::vector<bool> seen(static_cast<size_t>(ranks.size()));
  const uint64_t now = sched::now_ns();
  if (sched::Scheduler* scheduler = job.scheduler()) {
    scheduler->for_each_execution([&](const sched::Execution& execution) {
      auto* const rank = static_cast<Rank*>(execution.identity());
      if (rank == nullptr || !ranks.contains(rank->world_rank)) return;
      StateRow row{describe(execution, *rank), {rank->world_rank}, 1, 0};
      if (const uint64_t since = execution.waiting_since_ns();
          execution.wait_reason() != nullptr && now > since)
        row.longest_ns = static_cast<int64_t>(now - since);
      rows.push_back(std::move(row));
      seen[static_cast<size_t>(rank->world_rank - ranks.first)] = true;
    });
  }
  for (int r = ranks.first; r < ranks.end; ++r) {
    if (seen[static_cast<size_t>(r - ranks.first)]) continue;
    rows.push_back(
        {phase_text(job.rank(r).phase.load(std::memory_order_acquire)), {r}, 1, 0});
  }
  return merged(std::move(rows));
}

std::string deadlock_report(const std::string& table) {
  return "mpcrun: deadlock: every rank waits and nothing is in flight; the job is "
         "ended\n" +
         table;
}

void set_table_source(TableSource* source) {
  const Locked lock(g_lock);
  g_source = source;
}

void give_table(Job& job, TableSource::Use use) {
  {
    const Locked lock(g_lock);
    if (g_source != nullptr) return g_source->gather(std::move(use));
  }
  use(to_text(state_rows(job, job.local_ranks())));
}

std::string table_of(Job& job) {
  const auto text = std::make_shared<std::promise<std::string>>();
  give_table(job, [text](const std::string& table) { text->set_value(table); });
  return text->get_future().get();
}

}  // namespace mpc::job
