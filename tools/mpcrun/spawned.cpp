#include "tools/mpcrun/spawned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "runtime/wireup/record.h"
#include "runtime/wireup/starter.h"
#include "tools/mpcrun/hosts.h"

namespace mpc::tools {
namespace {

Result<launch::Plan> plan_one(const job::SpawnedPlace& place, bool is_hosted,
                              int ranks) {
  HostWish wish;
  wish.hosts = place.hosts;
  wish.host_file = place.host_file;
  wish.processes = place.processes;
  wish.ranks_per_process = is_hosted ? 1 : 0;
  return plan_job(wish, ranks);
}

bool is_same_host(const launch::HostPlan& one, const launch::HostPlan& other) {
  return (one.is_here && other.is_here) || one.name == other.name;
}

// Ranks are numbered through the hosts, so each of these has consecutive ones.
Result<> append(launch::Plan& plan, launch::HostPlan host) {
  const auto same = std::ranges::find_if(plan.hosts, [&](const launch::HostPlan& each) {
    return is_same_host(each, host);
  });
  if (same == plan.hosts.end()) {
    plan.hosts.push_back(std::move(host));
    return {};
  }
  if (&*same != &plan.hosts.back())
    return {Errc::kArg,
            fmt::format("host {} comes twice, with others between: give programs that "
                        "are to run on one host one after the other",
                        host.name)};
  same->ranks.insert(same->ranks.end(), host.ranks.begin(), host.ranks.end());
  return {};
}

}  // namespace

Result<launch::Plan> plan_spawned(const job::SpawnedJob& job) {
  const bool are_all_alike = std::ranges::all_of(
      job.places, [&](const auto& place) { return place == job.places.front(); });
  int ranks = 0;
  for (const job::AppSpec& app : job.spec.apps) ranks += app.ranks;
  if (are_all_alike) return plan_one(job.places.front(), job.is_hosted, ranks);
  launch::Plan plan;
  for (size_t i = 0; i < job.places.size(); ++i) {
    auto part = plan_one(job.places[i], job.is_hosted, job.spec.apps[i].ranks);
    MPC_TRY(part);
    for (launch::HostPlan& host : part->hosts) MPC_TRY(append(plan, std::move(host)));
  }
  return plan;
}

std::variant<Command, Finished> read_command(int argc, char** argv) {
  if (!job::is_spawned(argc, argv)) {
    ::unsetenv(job::kSpawnerVariable);  // of a rank that has started this job by itself
    return parse_options(argc, argv);
  }
  const auto usage_error = [](const Error& error) {
    return Finished{job::ExitStatus::kExitUsage, "",
                    fmt::format("mpcrun: {}\n", error.message)};
  };
  auto spawned = job::read_spawned(argc, argv);
  if (!spawned) return usage_error(spawned.error());
  Command command;
  command.spec = spawned->spec;
  command.is_hosted = spawned->is_hosted;
  // A process of the job: its launcher is ours.
  if (std::getenv(wireup::kLauncherVariable) != nullptr) return command;
  // The launcher and the allocation are the program's, not this job's.
  wireup::hide_starter();
  ::unsetenv("SLURM_JOB_NUM_NODES");
  auto plan = plan_spawned(*spawned);
  if (!plan) return usage_error(plan.error());
  command.plan = std::move(*plan);
  command.spec.processes = command.plan.processes();
  if (const char* const agent = std::getenv(kAgentVariable)) command.agent = agent;
  return command;
}

}  // namespace mpc::tools
