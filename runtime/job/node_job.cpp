#include "runtime/job/node_job.h"

#include <fmt/format.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/counter.h"
#include "base/log.h"
#include "base/rank_heap.h"
#include "base/settings.h"
#include "base/trace.h"
#include "runtime/job/console.h"
#include "runtime/job/crash.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/hooks.h"
#include "runtime/job/loading.h"
#include "runtime/job/openmp.h"
#include "runtime/job/registry.h"
#include "runtime/job/report.h"
#include "runtime/job/signals.h"
#include "runtime/job/start_block.h"
#include "runtime/trace/trace_file.h"
#include "scheduler/binding.h"
#include "scheduler/emulation/emulation.h"
#include "scheduler/limits.h"
#include "scheduler/placement.h"

namespace mpc::job {
namespace {

BoolSetting show_counters{
    "job.counters", false,
    "Print the runtime's counters that are not zero when the job ends"};

const char* const kAllocators[] = {"rank", "system"};
// tools/mpcrun/heap.cpp reads it, before this library is there.
EnumSetting allocator_setting{"job.allocator", 0, kAllocators, 2,
                              "Where ranks allocate: rank (each from memory of its "
                              "own, with huge pages for large arrays, "
                              "unless another allocator is preloaded) or system "
                              "(libc's malloc, one for all ranks)"};

BoolSetting steals{
    "sched.steal", true,
    "A worker that has nothing to do takes ranks that have been ready for 5 us while "
    "their worker computes. Off by default with --placement LIST and --emulate"};
StringSetting progress_policy{
    "progress.policy", sched::kHasProgressThreads ? "closest" : "off",
    "Where progress threads run: closest (idle core), same (core), next (core), numa, "
    "list:WORKERS, tasks (any idle core), or off",
    "closest|same|next|numa|list:0,1,...|tasks|off"};

// Where exit() of a rank returns to: the first frame of its user-level thread.
struct RankRun {
  jmp_buf first_frame;
  int status = 0;
};

std::vector<std::string> merged_environment(const AppSpec& app) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool replaced = std::any_of(
        app.environment.begin(), app.environment.end(), [&](const auto& pair) {
          return text.size() > pair.first.size() && text.starts_with(pair.first) &&
                 text[pair.first.size()] == '=';
        });
    if (!replaced) out.emplace_back(text);
  }
  for (const auto& [name, value] : app.environment) out.push_back(name + "=" + value);
  return out;
}

// The dynamic linker never sees the LD_PRELOAD of -x (to which mpcrun adds what it finds in its
// own), so the loader takes the libraries, a copy per rank, or says why it cannot.
std::vector<std::string> preloads(const AppSpec& app) {
  std::vector<std::string> out;
  for (const auto& [name, value] : app.environment) {
    if (name != "LD_PRELOAD") continue;
    out.clear();
    for (size_t begin = 0; begin < value.size();) {
      const size_t end = std::min(value.find_first_of(": ", begin), value.size());
      if (end > begin) out.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return out;
}

Result<std::unique_ptr<loader::Image>> load(const std::string& path,
                                            const AppSpec& app) {
  const Loading loading(path, kExitNotExecutable);
  return loader::Image::open(path, {preloads(app)});
}

// What happened how often, for `mpcrun --counters`.
void print_counters() {
  if (!show_counters.get()) return;
  std::string text;
  for (const Counter* counter : Counter::all()) {
    if (counter->get() == 0) continue;
    text += fmt::format("{:<28} {:>14}  {}\n", counter->name(), counter->get(),
                        counter->help());
  }
  console::say(text);
}

// progress.policy: a name, or "list:" with workers.
Result<> choose_policy(sched::ProgressCores::Config* out) {
  constexpr std::string_view kList = "list:";
  const std::string text = progress_policy.get();
  const bool is_list = text.starts_with(kList);
  auto policy = sched::parse_progress_policy(is_list ? "list" : text);
  if (!policy) return {Errc::kArg, "progress.policy: " + policy.error().message};
  if (!sched::kHasProgressThreads && *policy != sched::ProgressPolicy::kOff)
    return {Errc::kArg,
            fmt::format("progress.policy={}: this build has no progress threads "
                        "(CMake option MPC_PROGRESS)",
                        text)};
  out->policy = *policy;
  if (*policy != sched::ProgressPolicy::kList) return {};
  auto list = sched::parse_index_list(
      is_list ? std::string_view(text).substr(kList.size()) : std::string_view());
  if (!list || list->empty()) {
    return {Errc::kArg,
            fmt::format("progress.policy={}: a list of workers is wanted, such as "
                        "list:2,3",
                        text)};
  }
  out->list = *list;
  return {};
}

bool is_executable_file(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// As execvp(3) does it; then in this folder.
Result<std::string> find_program(const std::string& name) {
  if (name.empty()) return {Errc::kNotFound, "the name of the program is empty"};
  if (name.find('/') != std::string::npos) {
    if (::access(name.c_str(), F_OK) == 0) return name;
    return {Errc::kNotFound,
            fmt::format("program '{}': {}", name, std::strerror(errno))};
  }
  const char* path = std::getenv("PATH");
  const std::string_view folders =
      path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string_view folder = folders.substr(begin, end - begin);
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (is_executable_file(candidate)) return candidate;
    begin = end + 1;
  }
  if (::access(name.c_str(), F_OK) == 0)
    return "./" + name;  // what is wrong with it is said later
  return {Errc::kNotFound,
          fmt::format("program '{}' is neither in PATH nor in this folder", name)};
}

// Without links, as /proc/PID/exe shows it.
std::string absolute(const std::string& path) {
  char* found = ::realpath(path.c_str(), nullptr);
  std::string out = found != nullptr ? found : path;
  std::free(found);
  return out;
}

}  // namespace

NodeJob::NodeJob(const JobSpec& spec) : spec_(spec) {}
NodeJob::~NodeJob() { set_current_job(nullptr); }

const std::string& NodeJob::program(int app_index) const {
  return programs_[app_index].path;
}
int NodeJob::worker_of(int world_rank) const noexcept { return worker_of_[world_rank]; }

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
  // The emulated cores share few real ones: who waits does it asleep. And all data goes through
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
  wish.ranks = 0;
  for (const AppSpec& app : spec_.apps) wish.ranks += app.ranks;
  wish.core_count = spec_.core_count;
  wish.core_list = spec_.core_list;
  wish.comm_cores = spec_.comm_cores;
  wish.bind = spec_.bind;
  wish.placement = spec_.placement;
  wish.has_teams = has_teams();
  wish.has_progress = progress_config_.policy != sched::ProgressPolicy::kOff;
  // Another job may take a core between our look and our lease.
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

// The cores for the threads of each worker's ranks: all of the job but those that the user gave
// to communication.
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
  return {count(all), static_cast<double>(count(all)) / size()};
}

// OpenMP looks at the affinity before it starts threads, so it finds the whole share.
void NodeJob::bind_workers() {
  sched::Bindings& bindings = sched::bindings_of(*scheduler_);
  bindings.share_out(*machine_, choice_.cores, shares_);
  for (auto& rank : ranks_) {
    const int worker = worker_of_[rank->world_rank];
    if (programs_[rank->app_index].has_team && bindings.has_several_cores(worker))
      bindings.widen(worker);
  }
}

void NodeJob::make_progress_threads() {
#ifndef MPC_WITHOUT_PROGRESS
  if (progress_config_.policy == sched::ProgressPolicy::kOff) return;
  progress_cores_ =
      sched::ProgressCores::make(*scheduler_, *machine_, progress_config_);
  for (auto& rank : ranks_) {
    progress_threads_.push_back(progress_cores_->make_thread(
        rank.get(), rank->world_rank, worker_of_[rank->world_rank]));
    rank->progress = progress_threads_.back().get();
  }
#endif
}

Result<> NodeJob::prepare() {
  for (size_t app = 0; app < spec_.apps.size(); ++app) {
    const AppSpec& wanted = spec_.apps[app];
    auto path = find_program(wanted.program);
    MPC_TRY(path);
    auto image = load(*path, wanted);
    MPC_TRY(image);
    Program program{std::move(*image),
                    *path,
                    absolute(*path),
                    {wanted.program},
                    merged_environment(wanted)};
    allow_many_openmp(*program.image, program.environment);
    program.has_team = has_openmp_threads(*program.image, program.environment);
    program.arguments.insert(program.arguments.end(), wanted.args.begin(),
                             wanted.args.end());
    programs_.push_back(std::move(program));
    for (int i = 0; i < wanted.ranks; ++i) {
      auto rank = std::make_unique<Rank>();
      rank->world_rank = static_cast<int>(ranks_.size());
      rank->app_index = static_cast<int>(app);
      rank->job = this;
      ranks_.push_back(std::move(rank));
    }
  }
  for (auto& rank : ranks_) rank->world_size = size();
  MPC_TRY(choose_cores());
  auto placed = place();
  MPC_TRY(placed);
  worker_of_ = std::move(*placed);
  for (Program& program : programs_)
    let_openmp_wait(*program.image, program.environment, units_of_ranks());
  return {};
}

// The worker of each rank.
Result<std::vector<int>> NodeJob::place() const {
  const std::vector<int> cores(choice_.cores.begin(),
                               choice_.cores.begin() + choice_.application_workers);
  if (spec_.placement != Placement::kList) {
    return sched::place_ranks(*machine_, cores, size(),
                              spec_.placement == Placement::kScatter
                                  ? sched::Placement::kScatter
                                  : sched::Placement::kCompact);
  }
  const std::vector<int>& list = spec_.placement_list;
  for (const int worker : list) {
    if (worker < choice_.application_workers) continue;
    return {Errc::kArg,
            fmt::format("--placement: there is no worker {} for ranks; this job has {}",
                        worker, choice_.application_workers)};
  }
  std::vector<int> out(ranks_.size());
  for (size_t r = 0; r < out.size(); ++r) out[r] = list[r % list.size()];
  return out;
}

// What the user asks for here is given or refused; what the shell's limit says is a wish.
size_t NodeJob::stack_bytes() const {
  const bool is_given =
      spec_.stack_bytes != 0 && spec_.stack_bytes != sched::kUnlimitedStack;
  if (is_given) return spec_.stack_bytes;
  return sched::possible_stack_bytes(
      spec_.stack_bytes != 0 ? spec_.stack_bytes : sched::stack_limit(),
      static_cast<size_t>(size()));
}

std::string NodeJob::describe() const {
  std::string out =
      fmt::format("{} rank{} on {} worker{}\n", size(), size() == 1 ? "" : "s",
                  choice_.cores.size(), choice_.cores.size() == 1 ? "" : "s");
  if (!spec_.emulate.empty()) {
    out += fmt::format("emulated machine: {}, {} cores\n", machine_->name(),
                       machine_->core_count());
  }
  for (size_t app = 0; app < programs_.size(); ++app) {
    out += fmt::format("program {}:", app);
    for (const std::string& word : programs_[app].arguments) out += " " + word;
    out += fmt::format("   ({})\n", programs_[app].path);
  }
  for (size_t worker = 0; worker < choice_.cores.size(); ++worker) {
    std::vector<int> ranks;
    for (int r = 0; r < size(); ++r) {
      if (worker_of_[r] == static_cast<int>(worker)) ranks.push_back(r);
    }
    const bool is_dedicated = static_cast<int>(worker) >= choice_.application_workers;
    out +=
        fmt::format("worker {} on core {} (PU {}): {}", worker, choice_.cores[worker],
                    machine_->core(choice_.cores[worker]).os_pu,
                    is_dedicated ? "communication" : "ranks " + format_ranks(ranks));
    if (worker < shares_.size() && shares_[worker].size() > 1) {
      std::vector<int> share = shares_[worker];
      std::sort(share.begin(), share.end());
      out += "; their threads on cores " + format_ranks(share);
    }
    out += '\n';
  }
  out += fmt::format("stack of each rank: {} KiB ({})\n", stack_bytes() >> 10,
                     spec_.stack_bytes != 0                       ? "--stack-size"
                     : stack_bytes() == sched::kDefaultStackBytes ? "the default"
                                                                  : "ulimit -s");
  out += fmt::format("binding: {}{}{}\n", choice_.is_bound ? "core" : "none",
                     choice_.reason.empty() ? "" : "; ", choice_.reason);
  out += fmt::format("progress threads: {}\n", sched::name_of(progress_config_.policy));
  out += "settings changed from their defaults:";
  bool any = false;
  for (const SettingBase* setting : Settings::all()) {
    if (setting->is_default()) continue;
    any = true;
    out += fmt::format("\n  {} = {} {}", setting->name(), setting->text(),
                       setting->unit());
  }
  out += any ? "\n" : " none\n";
  return out;
}

Result<> NodeJob::load_copies() {
  loader::set_foreign_exit([](loader::Copy& copy, int status) {
    existing()->abort(
        status & 0xff,
        fmt::format("mpcrun: rank {} called exit({}) from a thread that is not "
                    "its main thread; the job is ended",
                    copy.rank(), status));
  });
  for (size_t app = 0; app < programs_.size(); ++app) {
    MPC_TRY(programs_[app].image->reserve(static_cast<size_t>(spec_.apps[app].ranks)));
  }
  for (auto& rank : ranks_) {
    auto copy = programs_[rank->app_index].image->load_copy(rank->world_rank);
    if (!copy) {
      return {copy.error().code, fmt::format("rank {} of {}: {}", rank->world_rank,
                                             size(), copy.error().message)};
    }
    rank->copy = *copy;
  }
  return {};
}

Result<> NodeJob::open_trace() {
  if (spec_.trace_file.empty()) return {};
  trace::Job job;
  for (const Program& program : programs_) {
    if (!job.command.empty()) job.command += " :";
    for (const std::string& word : program.arguments)
      job.command += (job.command.empty() ? "" : " ") + word;
  }
  job.rank_count = size();
  job.application_workers = choice_.application_workers;
  job.cores = choice_.cores;
  job.rank_of = [](void* who) { return static_cast<const Rank*>(who)->world_rank; };
  trace::set_who_source([] { return sched::Execution::self().identity(); });
  return trace::TraceFile::open(spec_.trace_file, job);
}

// The NUMA node of the rank's worker as the system numbers it; -1: there is only one.
int NodeJob::node_of(const Rank& rank) const {
  if (!machine_->is_real()) return -1;
  const auto numa_of = [this](int core) { return machine_->core(core).numa; };
  const std::vector<int>& cores = choice_.cores;
  if (std::all_of(cores.begin(), cores.end(),
                  [&](int core) { return numa_of(core) == 0; }))
    return -1;
  return machine_->core(cores[worker_of_[rank.world_rank]]).os_numa;
}

void NodeJob::rank_main(Rank& rank) {
  enter_rank_heap(rank.world_rank, node_of(rank));
  trace::introduce(trace::Role::kRank, &rank);
  RankRun run;
  rank.run = &run;
  rank.phase.store(kBeforeInit, std::memory_order_relaxed);
  if (_setjmp(run.first_frame) == 0) {
    const Program& program = programs_[rank.app_index];
    const StartBlock& start = StartBlock::give(
        rank, std::make_unique<StartBlock>(program.arguments, program.environment,
                                           program.path, program.file));
    hooks::run_rank_start(rank);
    run.status = rank.copy->run_main(start.argc(), start.argv(), start.envp());
  }
  rank_ended(rank, static_cast<RankRun*>(rank.run)->status);
}

void NodeJob::end_rank(int status) {
  Rank* rank = current_rank();
  CHECK(rank != nullptr, "end_rank() by a thread that is no rank");
  if (&sched::Execution::self() != rank->execution) {
    abort(status & 0xff,
          fmt::format(
              "mpcrun: rank {} called exit({}) from a thread that is not its main "
              "thread; the job is ended",
              rank->world_rank, status));
  }
  auto* run = static_cast<RankRun*>(rank->run);
  run->status = status;
  _longjmp(run->first_frame, 1);
}

void NodeJob::rank_ended(Rank& rank, int status) {
  const int phase = rank.phase.load(std::memory_order_relaxed);
  status &= 0xff;
  const std::string who = fmt::format("mpcrun: rank {} of {} ({})", rank.world_rank,
                                      size(), programs_[rank.app_index].path);
  if (status != 0 && phase != kAfterFinalize) {
    abort(status,
          fmt::format("{} exited with status {}{}; the job is ended", who, status,
                      phase == kInMpi ? " without calling MPI_Finalize" : ""));
  }
  if (phase == kInMpi && size() > 1) {
    // The others may wait for this rank for ever: MPI-4.1 section 11.2.2 wants MPI_Finalize.
    abort(1, who + " ended without calling MPI_Finalize; the job is ended");
  }
  // After MPI_Finalize nobody waits for it, and the others may be writing their results.
  if (status != 0)
    ending_.note_failure(status, fmt::format("{} exited with status {}", who, status));
  // Before the mailboxes go: an item wakes other ranks after it has completed what they wait for.
  if (rank.progress != nullptr) rank.progress->stop();
  hooks::run_rank_end(rank);
  rank.phase.store(kEnded, std::memory_order_release);
}

// What assert(), error() and warn() of the program print; libc has one name for all ranks.
void name_process_after(const std::string& path) {
  static std::string name;
  name = path;
  program_invocation_name = name.data();
  program_invocation_short_name = name.data() + (name.rfind('/') + 1);
}

// With a rank or less per worker there is nothing to take. Whoever says which worker a rank is to
// run on gets that; so do the cores of an emulated machine.
bool NodeJob::may_move_ranks() const {
  if (size() <= choice_.application_workers || !steals.get()) return false;
  return !steals.is_default() ||
         (spec_.placement != Placement::kList && spec_.emulate.empty());
}

Result<int> NodeJob::run() {
  set_current_job(this);
  if (!has_rank_heaps())
    log::debug(
        "job: all ranks share one heap (job.allocator=system, another allocator, or "
        "lib/mpc/libmpc_heap.so is missing)");
  if (programs_.size() == 1) name_process_after(programs_.front().path);
  start_ns_ = sched::now_ns();
  StartBlock::reserve(size());
  MPC_TRY(load_copies());
  sched::SchedulerConfig config;
  config.machine = machine_.get();
  config.cores = choice_.cores;
  config.bind = choice_.is_bound;
  config.stack_bytes = stack_bytes();
  if (may_move_ranks()) config.steal_below = choice_.application_workers;
  if (progress_config_.policy == sched::ProgressPolicy::kClosest)
    config.steal_from = choice_.application_workers;
  config.on_kernel_thread = &crash::prepare_kernel_thread;
  SignalThread::block_in_this_thread();
  auto scheduler = sched::Scheduler::start(config);
  MPC_TRY(scheduler);
  scheduler_ = std::move(*scheduler);
  scheduler_->set_quiescence_handler([this] {
    // Ranks that wait for the job's end are no deadlock; what waits for them sees it itself.
    if (!is_ending()) abort(kExitDeadlock, deadlock_report(*this));
  });
  crash::install(*this);
  SignalThread signals(*this, spec_.timeout_seconds);
  signals_ = &signals;
  make_progress_threads();
  bind_workers();
  scheduler_->hold();
  for (auto& rank : ranks_) {
    sched::UltSpec ult;
    ult.entry = [this, r = rank.get()] { rank_main(*r); };
    ult.worker = worker_of_[rank->world_rank];
    ult.identity = rank.get();
    ult.name = "rank";
    auto spawned = scheduler_->spawn(std::move(ult));
    if (!spawned) {
      return {spawned.error().code, fmt::format("rank {} of {}: {}", rank->world_rank,
                                                size(), spawned.error().message)};
    }
    // relaxed: the ranks see it by release(); a report only compares it, see describe().
    std::atomic_ref(rank->execution).store(*spawned, std::memory_order_relaxed);
  }
  scheduler_->release();
  scheduler_->wait_all();
  if (!ending_.request(0, nullptr, false))
    wait_for_end();  // a thread of a rank was first
  ending_thread_.store(::gettid(), std::memory_order_relaxed);
  hooks::run_job_end(*this);
  print_counters();
  console::say(console::loss());
  console::say(ending_.messages());
  return exit_status();
}

// The status of the job's end, when all has been written that can be.
int NodeJob::exit_status() const {
  const int status = ending_.status();
  return status == 0 && !ending_.is_abort() && !console::loss().empty() ? kExitOutput
                                                                        : status;
}

// --- the end before the end --------------------------------------------------------------------

void NodeJob::abort(int exit_code, const std::string& message) {
  if (console::is_forked_child()) {  // a process of its own: it ends alone
    hooks::run_job_end(*this);
    console::say(message);
    ::_exit(exit_code);
  }
  Rank* rank = current_rank();
  if (rank != nullptr && !crash::is_reporting_thread()) hooks::run_rank_failure(*rank);
  if (ending_.request(exit_code, &message, rank != nullptr)) signals_->finish_job();
  wait_for_end();
}

bool NodeJob::request_end(int exit_code, const std::string& message) noexcept {
  return ending_.request(exit_code, &message, false);
}

bool NodeJob::claim_end() noexcept {
  if (!ending_.request(0, nullptr, true)) return false;
  ending_thread_.store(::gettid(), std::memory_order_relaxed);
  return true;
}

bool NodeJob::ends_here() const noexcept {
  return ending_thread_.load(std::memory_order_relaxed) == ::gettid();
}

void NodeJob::last_words() noexcept {
  print_counters();
  trace::TraceFile::write();
}

namespace {

struct EndOfJob final : sched::WaitReason {
  std::string text() const override { return "the end of the job"; }
};

}  // namespace

void NodeJob::wait_for_end() noexcept {
  const EndOfJob reason;
  sched::Execution& self = sched::Execution::self();
  const bool can_park = self.identity() != nullptr && !crash::is_reporting_thread();
  for (;;) {
    if (can_park)
      self.park(reason);
    else
      ::pause();
  }
}

// Threads of ranks that run, or whose wait ends by itself.
int NodeJob::count_that_can_go_on() const {
  int count = 0;
  scheduler_->for_each_execution([&](const sched::Execution& execution) {
    if (execution.identity() == nullptr || &execution == crash::reporter()) return;
    const sched::WaitReason* reason = execution.wait_reason();
    if (reason == nullptr || execution.has_deadline() || reason->can_end_by_itself())
      ++count;
  });
  return count;
}

// What the others are about to say belongs to the failure: often all ranks find the same error,
// and one of them says what it is. They go on until all have failed, too, ended or wait for
// another one (seen twice: background work may be about to wake one), or the time is over. It
// begins anew, not without end, with each that is through: the system may let us run but little.
void NodeJob::let_others_go_on() {
  const uint64_t grace_ns = ending_.grace_ns();
  if (grace_ns == 0) return;
  // Ranks behind one that computes shall have their turn within this time.
  [[maybe_unused]] const auto ignored = Settings::assign("sched.preempt_ms=10");
  constexpr uint64_t kFirstPauseNs = 250'000, kLastPauseNs = 5'000'000,
                     kMostGraces = 10;
  const uint64_t last_ns = sched::now_ns() + kMostGraces * grace_ns;
  uint64_t end_ns = sched::now_ns() + grace_ns;
  int fewest = std::numeric_limits<int>::max();
  int quiet_looks = 0;
  for (uint64_t pause_ns = kFirstPauseNs; quiet_looks < 2;
       pause_ns = std::min(2 * pause_ns, kLastPauseNs)) {
    const uint64_t now = sched::now_ns();
    if (now >= end_ns) return;
    // The second quiet look comes late enough for one that the system has not let run meanwhile.
    const uint64_t next_ns = quiet_looks == 0 ? pause_ns : kLastPauseNs;
    const timespec pause{0, static_cast<long>(std::min(next_ns, end_ns - now))};
    ::nanosleep(&pause, nullptr);
    const int count = count_that_can_go_on();
    quiet_looks = count == 0 ? quiet_looks + 1 : 0;
    if (count >= fewest) continue;
    fewest = count;
    end_ns = std::min(sched::now_ns() + grace_ns, last_ns);
  }
}

void NodeJob::finish() {
  ending_thread_.store(::gettid(), std::memory_order_relaxed);
  let_others_go_on();
  hooks::run_job_end(*this);
  print_counters();
  console::say(console::loss());
  console::say(ending_.messages());
  const bool is_traced =
      trace::TraceFile::write();  // last: the report does not wait for it
  const int status = exit_status();
  ::_exit(status == 0 && !is_traced ? kExitOutput : status);
}

}  // namespace mpc::job
