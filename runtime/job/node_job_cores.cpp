// The cores on which a NodeJob's ranks, their threads and its background work run.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/index_list.h"
#include "base/settings.h"
#include "runtime/job/losses.h"
#include "runtime/job/node_job.h"
#include "runtime/job/universe.h"
#include "scheduler/binding.h"
#include "scheduler/emulation/emulation.h"
#include "scheduler/placement.h"

namespace mpc::job {
namespace {

BoolSetting steals{
    "sched.steal", true,
    "A worker that has nothing to do takes ranks that have been ready for 5 us while "
    "their worker computes. Off by default with --placement LIST and --emulate"};

StringSetting progress_policy{
    "progress.policy", "closest",
    "Where progress threads run: closest (idle core), same (core), next (core), numa, "
    "list:WORKERS, tasks (any idle core), or off",
    "closest|same|next|numa|list:0,1,...|tasks|off"};

// Reads progress.policy: a name, or "list:" with workers.
Result<> choose_policy(sched::ProgressCores::Config* out) {
  constexpr std::string_view kList = "list:";
  const std::string text = progress_policy.get();
  const bool is_list = text.starts_with(kList);
  auto policy = sched::parse_progress_policy(is_list ? "list" : text);
  if (!policy) return {Errc::kArg, "progress.policy: " + policy.error().message};
  out->policy = *policy;
  if (*policy != sched::ProgressPolicy::kList) return {};
  auto list = parse_index_list(is_list ? std::string_view(text).substr(kList.size())
                                       : std::string_view());
  if (!list || list->empty()) {
    return {Errc::kArg,
            fmt::format("progress.policy={}: a list of workers is wanted, such as "
                        "list:2,3",
                        text)};
  }
  out->list = *list;
  return {};
}

}  // namespace

Result<> NodeJob::choose_machine() {
  if (spec_.emulate.empty()) {
    auto machine = topo::Machine::detect();
    MPC_TRY(machine);
    machine_ = std::move(*machine);
    return {};
  }
  auto machine = topo::Machine::by_name(spec_.emulate);
  if (!machine) return {Errc::kArg, "--emulate: " + machine.error().message};
  machine_ = std::move(*machine);
  sched::Emulation::turn_on();
  // Many emulated cores share a few real ones, so a rank that waits sleeps. And all data go through
  // messages and schedules, whose time is known. Unless the user says otherwise.
  for (const char* name :
       {"sched.spin_us", "progress.spin_us", "progress.nap_us", "nbc.direct"}) {
    const SettingBase* setting = Settings::find(name);
    if (setting == nullptr || !setting->is_default()) continue;
    MPC_TRY(Settings::assign(std::string(name) + "=0"));
  }
  return {};
}

Result<> NodeJob::choose_cores() {
  MPC_TRY(choose_machine());
  MPC_TRY(choose_policy(&progress_config_));
  CoreWish wish;
  wish.ranks = expected_count();
  wish.core_count = spec_.core_count;
  wish.core_list = spec_.core_list;
  wish.comm_cores = spec_.comm_cores;
  wish.bind = spec_.bind;
  wish.placement = spec_.placement;
  wish.has_teams = has_teams();
  wish.has_progress = progress_config_.policy != sched::ProgressPolicy::kOff;
  if (has_other_processes()) take_own_cores(wish);
  // Another job may take a core between our check and our lease.
  constexpr int kMostTries = 8;
  for (int i = 0; i < kMostTries; ++i) {
    auto choice = job::choose_cores(*machine_, wish, uses_of_others());
    MPC_TRY(choice);
    choice_ = std::move(*choice);
    if (lease_cores() || choice_.is_shared || !wish.core_list.empty()) break;
    leases_.give_back();
  }
  share_out();
  progress_config_.application_workers = choice_.application_workers;
  for (const int worker : progress_config_.list) {
    if (worker < static_cast<int>(choice_.cores.size())) continue;
    return {Errc::kArg,
            fmt::format("progress.policy: there is no worker {}; this job has {}",
                        worker, choice_.cores.size())};
  }
  return {};
}

bool NodeJob::shares_machine() const {
  return machine_->is_real() && spec_.bind != Bind::kNone &&
         CoreLeases::has_room_for(static_cast<size_t>(machine_->core_count()));
}

std::vector<CoreUse> NodeJob::uses_of_others() const {
  if (!shares_machine()) return {};
  std::vector<CoreUse> uses;
  for (int core = 0; core < machine_->core_count(); ++core) {
    const int pu = machine_->core(core).os_pu;
    uses.push_back({leases_.is_taken(pu, CoreLeases::Use::kRanks),
                    leases_.is_taken(pu, CoreLeases::Use::kCommunication)});
  }
  return uses;
}

// False: another job has taken one of them meanwhile.
bool NodeJob::lease_cores() {
  if (!shares_machine() || !choice_.is_bound) return true;
  bool is_ours = true;
  for (size_t worker = 0; worker < choice_.cores.size(); ++worker) {
    const bool has_ranks = static_cast<int>(worker) < choice_.application_workers;
    is_ours = leases_.take(machine_->core(choice_.cores[worker]).os_pu,
                           has_ranks ? CoreLeases::Use::kRanks
                                     : CoreLeases::Use::kCommunication) &&
              is_ours;
  }
  if (!has_teams()) return is_ours;
  for (const int core : choice_.pool)
    if (std::find(choice_.cores.begin(), choice_.cores.end(), core) ==
        choice_.cores.end())
      is_ours =
          leases_.take(machine_->core(core).os_pu, CoreLeases::Use::kRanks) && is_ours;
  return is_ours;
}

// Will ranks start threads as soon as they run?
bool NodeJob::has_teams() const {
  return std::any_of(programs_.begin(), programs_.end(),
                     [](const Program& program) { return program.has_team; });
}

// The cores for the threads of each worker's ranks: all cores of the
// job except those that the user gave to communication.
void NodeJob::share_out() {
  if (!choice_.is_bound || !machine_->is_real()) return;
  std::vector<int> pool = choice_.pool;
  const auto first_other = choice_.cores.begin() + choice_.application_workers;
  for (auto core = first_other; spec_.comm_cores > 0 && core != choice_.cores.end();
       ++core)
    std::erase(pool, *core);
  shares_ = sched::share_cores(*machine_, {choice_.cores.begin(), first_other}, pool);
}

// All shares have the same number of cores; ranks of one worker divide them.
UnitCounts NodeJob::units_of_ranks() const {
  if (!machine_->is_real()) return {1, 1};
  const auto count = [this](const std::vector<int>& cores) {
    int units = 0;
    for (const int core : cores) units += machine_->core(core).pu_count;
    return units;
  };
  if (!shares_.empty()) {
    int most = 1;
    for (const int worker : worker_of_)
      most = std::max(most, static_cast<int>(std::count(worker_of_.begin(),
                                                        worker_of_.end(), worker)));
    const int units = count(shares_.front());
    return {units, static_cast<double>(units) / most};
  }
  std::vector<int> all(static_cast<size_t>(machine_->core_count()));
  std::iota(all.begin(), all.end(), 0);
  return {count(all), static_cast<double>(count(all)) / local_count()};
}

// OpenMP reads the affinity before it starts threads, so it finds the whole share.
void NodeJob::bind_workers() {
  sched::Bindings& bindings = sched::bindings_of(*scheduler_);
  bindings.share_out(*machine_, choice_.cores, shares_);
  for (auto& rank : ranks_) {
    const int worker = worker_of(rank->world_rank);
    if (programs_[rank->app_index].has_team && bindings.has_several_cores(worker))
      bindings.widen(worker);
  }
}

void NodeJob::make_progress_threads() {
  if (progress_config_.policy == sched::ProgressPolicy::kOff) return;
  progress_cores_ =
      sched::ProgressCores::make(*scheduler_, *machine_, progress_config_);
  for (auto& rank : ranks_) {
    progress_threads_.push_back(progress_cores_->make_thread(
        rank.get(), rank->world_rank, worker_of(rank->world_rank)));
    rank->progress = progress_threads_.back().get();
  }
}

// The worker of each rank.
Result<std::vector<int>> NodeJob::place() const {
  if (spec_.placement != Placement::kList)
    return place_on(*machine_, choice_, local_count(), spec_.placement);
  const std::vector<int>& list = spec_.placement_list;
  for (const int worker : list) {
    if (worker < choice_.application_workers) continue;
    return {Errc::kArg,
            fmt::format("--placement: there is no worker {} for ranks; this job has {}",
                        worker, choice_.application_workers)};
  }
  std::vector<int> out(ranks_.size());
  const auto first = static_cast<size_t>(local_.first);
  for (size_t r = 0; r < out.size(); ++r) out[r] = list[(first + r) % list.size()];
  return out;
}

// The NUMA node of the rank's worker in the system's numbering; -1: there is only one.
int NodeJob::node_of(const Rank& rank) const {
  if (!machine_->is_real()) return -1;
  const auto numa_of = [this](int core) { return machine_->core(core).numa; };
  const std::vector<int>& cores = choice_.cores;
  if (std::all_of(cores.begin(), cores.end(),
                  [&](int core) { return numa_of(core) == 0; }))
    return -1;
  return machine_->core(cores[worker_of(rank.world_rank)]).os_numa;
}

// Only the program's own calls can be seen, not those that a library makes for it.
bool NodeJob::calls_spawn() const {
  return std::any_of(programs_.begin(), programs_.end(), [](const Program& program) {
    return program.image != nullptr &&
           program.image->imports({"MPI_Comm_spawn", "MPI_Comm_spawn_multiple",
                                   "mpi_comm_spawn_", "mpi_comm_spawn_f08_"});
  });
}

// Ranks that join this process.
bool NodeJob::may_spawn() const { return processes_.is_one_process() && calls_spawn(); }

// The number of ranks that this process may have at a time.
int NodeJob::expected_count() const {
  if (!processes_.is_one_process()) return local_count();
  if (wanted_universe() != 0) return std::max(local_count(), wanted_universe());
  return may_spawn() ? std::max(local_count(), machine_->core_count()) : local_count();
}

// Cores may be shared, so a job that may spawn has no limit unless the user has given one.
int NodeJob::universe_size() const noexcept {
  // Children of several processes are a job of their own: docs/design/0042.
  if (has_other_processes()) {
    if (losses::are_survived()) return size();
    const bool may_have_children = wanted_universe() != 0 || calls_spawn();
    return may_have_children ? universe_of(size()) : size();
  }
  const int expected = expected_count();
  const bool has_limit = !may_spawn() || wanted_universe() != 0 || expected > size();
  return has_limit ? expected : 0;
}

// With at most one rank per worker there is nothing to steal. If the user says which worker a rank
// runs on, it stays there; so it does on the cores of an emulated machine.
bool NodeJob::may_move_ranks() const {
  const bool is_alone = local_count() <= choice_.application_workers &&
                        expected_count() == local_count() && !may_spawn();
  if (is_alone || !steals.get()) return false;
  return !steals.is_default() ||
         (spec_.placement != Placement::kList && spec_.emulate.empty());
}

}  // namespace mpc::job
