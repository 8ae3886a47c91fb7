#include "runtime/job/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <utility>

namespace mpc::job {
namespace {

struct Group {
  std::vector<int> ranks;
  size_t threads = 0;  // more than ranks: threads of one rank in the same state
  uint64_t oldest_ns = UINT64_MAX;
};

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
  // Relaxed: only compared. The report may be made while ranks are still being started.
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

// The same of several ranks. A thread of a rank stays one.
std::string plural(std::string text) {
  constexpr std::pair<const char*, const char*> kWords[] = {
      {"waits in", "wait in"},
      {"runs in", "run in"},
      {"running in its own code", "running in their own code"}};
  for (const auto& [one, many] : kWords)
    if (text.rfind(one, 0) == 0) text.replace(0, std::strlen(one), many);
  return text;
}

}  // namespace

std::string format_ranks(const std::vector<int>& ranks) {
  std::string out;
  int pieces = 0;
  for (size_t i = 0; i < ranks.size();) {
    size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (++pieces > 16) {
      out += fmt::format(",... ({} in all)", ranks.size());
      break;
    }
    if (!out.empty()) out += ',';
    out +=
        i == j ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[j]);
    i = j + 1;
  }
  return out.empty() ? "none" : out;
}

std::string state_table(Job& job) {
  std::map<std::string, Group> groups;
  const RankRange local = job.local_ranks();
  std::vector<bool> seen(static_cast<size_t>(local.size()));
  const uint64_t now = sched::now_ns();
  if (sched::Scheduler* scheduler = job.scheduler()) {
    scheduler->for_each_execution([&](const sched::Execution& execution) {
      auto* const rank = static_cast<Rank*>(execution.identity());
      if (rank == nullptr) return;
      Group& group = groups[describe(execution, *rank)];
      group.ranks.push_back(rank->world_rank);
      if (execution.wait_reason() != nullptr) {
        group.oldest_ns = std::min(group.oldest_ns, execution.waiting_since_ns());
      }
      seen[static_cast<size_t>(rank->world_rank - local.first)] = true;
    });
  }
  for (int r = local.first; r < local.end; ++r) {
    if (seen[static_cast<size_t>(r - local.first)]) continue;
    groups[phase_text(job.rank(r).phase.load(std::memory_order_acquire))]
        .ranks.push_back(r);
  }
  std::vector<std::pair<std::string, Group>> lines(groups.begin(), groups.end());
  for (auto& [text, group] : lines) {
    group.threads = group.ranks.size();
    std::sort(group.ranks.begin(), group.ranks.end());
    group.ranks.erase(std::unique(group.ranks.begin(), group.ranks.end()),
                      group.ranks.end());
  }
  std::sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    return a.second.ranks.front() < b.second.ranks.front();
  });
  std::string out;
  for (const auto& [text, group] : lines) {
    out += fmt::format("  rank{} {}: {}", group.ranks.size() == 1 ? "" : "s",
                       format_ranks(group.ranks),
                       group.ranks.size() == 1 ? text : plural(text));
    if (group.threads > group.ranks.size())
      out += fmt::format(" ({} threads)", group.threads);
    if (group.oldest_ns != UINT64_MAX && now > group.oldest_ns) {
      out += fmt::format(", since {:.1f} s",
                         static_cast<double>(now - group.oldest_ns) * 1e-9);
    }
    out += '\n';
  }
  return out;
}

std::string deadlock_report(Job& job) {
  return fmt::format(
      "mpcrun: deadlock: every rank waits and nothing is in flight; the job is "
      "ended\n{}",
      state_table(job));
}

}  // namespace mpc::job
