#include "tools/mpcrun/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <vector>

#include "runtime/wireup/ranks_variable.h"
#include "runtime/wireup/record.h"
#include "tools/mpcrun/hosted.h"
#include "tools/mpcrun/peers.h"
#include "tools/mpcrun/unwrap.h"

namespace mpc::tools {
namespace {

// A process of a job has been told how many ranks there are; files that name hosts need not exist
// on its host.
int ranks_of_launcher() {
  int ranks = 0;
  for (const std::vector<int>& host : wireup::ranks_in_environment())
    ranks = std::accumulate(host.begin(), host.end(), ranks);
  return ranks;
}

// The hosts of the allocation in which mpcrun has been started.
int hosts_here() {
  const char* nodes = std::getenv("SLURM_JOB_NUM_NODES");
  return std::max(nodes != nullptr ? std::atoi(nodes) : 1, 1);
}

// Without -n hosts with their slots, or the number of ranks on each of them, say how many there
// are. Of several programs each says so by itself.
Result<> count_ranks(const Parsed& of_job, const Words& words, job::JobSpec& spec) {
  if (of_job.ranks > 0 || spec.apps.size() > 1) return {};
  const HostWish& hosts = of_job.hosts;
  int& ranks = spec.apps.front().ranks;
  if (std::getenv(wireup::kLauncherVariable) != nullptr) {
    ranks = std::max(ranks_of_launcher(), 1);
  } else if (hosts.names_hosts()) {
    const auto room = room_of(hosts);
    MPC_TRY(room);
    ranks = *room;
  } else if (hosts.ranks_per_host > 0 && words.foreign.count("--ranks-per-host") > 0) {
    ranks = hosts.ranks_per_host * hosts_here();
  }
  return {};
}

// A process of a job has received the plan; files that name hosts need not exist on its host.
Result<> plan(const HostWish& wish, int ranks, Command& command) {
  if (std::getenv(wireup::kLauncherVariable) != nullptr) return {};
  auto planned = plan_job(wish, ranks);
  MPC_TRY(planned);
  command.plan = std::move(*planned);
  command.spec.processes = command.plan.processes();
  return {};
}

// Refuses options that are for a single process, before processes are started here or on other
// hosts.
Result<> check_several(const Parsed& of_job, const Command& command) {
  const int processes = command.plan.processes();
  if (processes <= 1 || command.is_hosted) return {};
  if (!of_job.emulate.empty())
    return {Errc::kArg,
            fmt::format("--emulate: an emulated machine is one process, and this job "
                        "has {}: leave out -p, --ranks-per-process and --hosts, or "
                        "--emulate",
                        processes)};
  for (const std::string& setting : of_job.settings)
    if (setting.starts_with("job.virtual_processes="))
      return {Errc::kArg,
              fmt::format("--set {}: this job has {} real processes: leave out -p, "
                          "--ranks-per-process and --hosts, or this setting",
                          setting, processes)};
  return {};
}

// A folder of the first program is the job's, unless another program has one of its own, or, by the
// name of another launcher, might: there each has its own.
void settle_folders(job::JobSpec& spec) {
  std::vector<job::AppSpec>& apps = spec.apps;
  const bool are_own = std::any_of(
      apps.begin() + 1, apps.end(),
      [](const job::AppSpec& app) { return !app.working_directory.empty(); });
  if (!are_own && (apps.size() == 1 || !has_peer_name())) {
    apps.front().working_directory.clear();
    return;
  }
  for (job::AppSpec& app : apps) {
    if (app.working_directory.empty() && !has_peer_name())
      app.working_directory = spec.working_directory.empty()
                                  ? ""
                                  : std::filesystem::absolute(spec.working_directory);
    app.program = seen_from(app.working_directory, app.program);
  }
  spec.working_directory.clear();
}

}  // namespace

Result<> finish(Parsed& of_job, const Words& words, Command& command) {
  MPC_TRY(fill_all_apps(of_job, command));
  for (std::string& warning : command.warnings)
    warning = as_typed(std::move(warning), words);
  settle_folders(command.spec);
  HostWish& hosts = of_job.hosts;
  MPC_TRY(count_ranks(of_job, words, command.spec));
  int64_t ranks = 0;
  for (const job::AppSpec& app : command.spec.apps) ranks += app.ranks;
  if (ranks > kMaxRanks)
    return {Errc::kArg,
            fmt::format("{} ranks: a job has at most {}", ranks, kMaxRanks)};
  command.agent = of_job.agent;
  if (const char* const known = std::getenv(kAgentVariable);
      command.agent.empty() && known != nullptr)
    command.agent = known;
  // -ppn of other launchers has no meaning with one host.
  if (!hosts.names_hosts() && words.foreign.count("--ranks-per-host") > 0)
    hosts.ranks_per_host = 0;
  MPC_TRY(decide_hosted(of_job, hosts, command));
  MPC_TRY(plan(hosts, static_cast<int>(ranks), command));
  MPC_TRY(decide_to_go_on(of_job, command));
  return check_several(of_job, command);
}

}  // namespace mpc::tools
