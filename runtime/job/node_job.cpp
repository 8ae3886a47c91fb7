#include "runtime/job/node_job.h"

#include <fmt/format.h>
#include <setjmp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/counter.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/trace.h"
#include "runtime/job/crash.h"
#include "runtime/job/hooks.h"
#include "runtime/job/registry.h"
#include "runtime/job/report.h"
#include "runtime/job/signals.h"
#include "runtime/trace/trace_file.h"
#include "scheduler/emulation/emulation.h"
#include "scheduler/placement.h"
#include "topology/spread.h"

namespace mpc::job {
namespace {

BoolSetting show_counters{"job.counters", false,
                          "Print the runtime's counters that are not zero when the job ends"};

BoolSetting steals{"sched.steal", false,
                   "An idle worker takes ranks that are ready on other workers: for ranks with "
                   "uneven work. Data of a rank stay where they are."};
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

// LLVM's OpenMP ends a process that loads it twice. Here each copy has its own program, which
// is what it wants to make sure of.
void allow_many_openmp(const loader::Image& image, std::vector<std::string>& environment) {
  if (!image.has_library("libomp.so") && !image.has_library("libiomp5.so")) return;
  constexpr std::string_view kName = "KMP_DUPLICATE_LIB_OK=";
  for (const std::string& entry : environment)
    if (entry.starts_with(kName)) return;
  environment.push_back(std::string(kName) + "TRUE");
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

// What happened how often, for `mpcrun --counters`.
void print_counters() {
  if (!show_counters.get()) return;
  std::string text;
  for (const Counter* counter : Counter::all()) {
    if (counter->get() == 0) continue;
    text += fmt::format("{:<28} {:>14}  {}\n", counter->name(), counter->get(),
                        counter->help());
  }
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

// progress.policy: a name, or "list:" with workers.
Result<> choose_policy(sched::ProgressCores::Config* out) {
  constexpr std::string_view kList = "list:";
  const std::string text = progress_policy.get();
  const bool is_list = text.starts_with(kList);
  auto policy = sched::parse_progress_policy(is_list ? "list" : text);
  if (!policy) return {Errc::kArg, "progress.policy: " + policy.error().message};
  if (!sched::kHasProgressThreads && *policy != sched::ProgressPolicy::kOff)
    return {Errc::kArg, fmt::format("progress.policy={}: this build has no progress threads "
                                    "(CMake option MPC_PROGRESS)",
                                    text)};
  out->policy = *policy;
  if (*policy != sched::ProgressPolicy::kList) return {};
  auto list = sched::parse_index_list(is_list ? std::string_view(text).substr(kList.size())
                                              : std::string_view());
  if (!list || list->empty()) {
    return {Errc::kArg, fmt::format("progress.policy={}: a list of workers is wanted, such as "
                                    "list:2,3",
                                    text)};
  }
  out->list = *list;
  return {};
}

// As execvp(3) does it.
Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (::access(name.c_str(), F_OK) == 0) return name;
    return {Errc::kNotFound, fmt::format("program '{}': {}", name, std::strerror(errno))};
  }
  const char* path = std::getenv("PATH");
  const std::string_view folders = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string_view folder = folders.substr(begin, end - begin);
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  if (::access(name.c_str(), X_OK) == 0) return "./" + name;
  return {Errc::kNotFound,
          fmt::format("program '{}' is neither in PATH nor in this folder", name)};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
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
  for (const char* name : {"sched.spin_us", "progress.spin_us", "progress.nap_us", "nbc.direct"}) {
    const SettingBase* setting = Settings::find(name);
    if (setting == nullptr || !setting->is_default()) continue;
    MPC_TRY(Settings::assign(std::string(name) + "=0"));
  }
  return {};
}

Result<> NodeJob::choose_cores() {
  MPC_TRY(choose_machine());
  const int available = machine_->core_count();
  for (const int core : spec_.core_list) {
    if (core < 0 || core >= available) {
      return {Errc::kArg, fmt::format("--cores: there is no core {}; this job may use 0 to {}",
                                      core, available - 1)};
    }
  }
  MPC_TRY(choose_policy(&progress_config_));
  if (!spec_.core_list.empty()) {
    cores_ = spec_.core_list;
    return set_cores_apart(static_cast<int>(cores_.size()), true);
  }
  if (spec_.core_count > available) {
    return {Errc::kArg, fmt::format("--cores {}: this job may use {} core{}; ranks may "
                                    "outnumber cores, workers may not",
                                    spec_.core_count, available, available == 1 ? "" : "s")};
  }
  const int total = spec_.core_count > 0 ? spec_.core_count : available;
  for (int i = 0; i < total; ++i) cores_.push_back(i);
  return set_cores_apart(total, spec_.core_count > 0);
}

// The numbers 0..total-1 with those of the communication cores behind the others: workers with
// ranks come first.
std::vector<int> spread_apart(int total, int communication) {
  const std::vector<int> picked = topo::spread(total, communication);
  std::vector<int> cores;
  for (int core = 0; core < total; ++core)
    if (!std::binary_search(picked.begin(), picked.end(), core)) cores.push_back(core);
  cores.insert(cores.end(), picked.begin(), picked.end());
  return cores;
}

// The same for ranks that want to be far from each other: cores far apart for them, and beside
// each of these one for communication.
Result<std::vector<int>> scatter_apart(const topo::Machine& machine, int total, int application,
                                       int communication) {
  std::vector<int> all(static_cast<size_t>(total));
  std::iota(all.begin(), all.end(), 0);
  auto cores = sched::place_ranks(machine, all, application, sched::Placement::kScatter);
  MPC_TRY(cores);
  std::sort(cores->begin(), cores->end());
  for (const int core : *cores) all.erase(std::find(all.begin(), all.end(), core));
  for (int i = 0; i < communication; ++i) {
    const int beside = (*cores)[static_cast<size_t>(i % application)];
    const auto nearest = std::min_element(all.begin(), all.end(), [&](int a, int b) {
      return machine.distance(beside, a) < machine.distance(beside, b);
    });
    cores->push_back(*nearest);
    all.erase(nearest);
  }
  return cores;
}

// Which of the cores have ranks; the others, evenly between them, are for communication. Cores
// that the user did not ask for and that nobody needs are left alone.
Result<> NodeJob::set_cores_apart(int total, bool is_given) {
  int ranks = 0;
  for (const AppSpec& app : spec_.apps) ranks += app.ranks;
  if (spec_.comm_cores >= total) {
    return {Errc::kArg,
            fmt::format("--comm-cores {}: of {} core{} that leaves none for the ranks",
                        spec_.comm_cores, total, total == 1 ? "" : "s")};
  }
  application_workers_ = std::min(total - std::max(spec_.comm_cores, 0), ranks);
  int communication = spec_.comm_cores;
  if (communication < 0) {
    communication = std::min(total - application_workers_, ranks);
    if (progress_config_.policy == sched::ProgressPolicy::kOff) communication = 0;
    if (is_given) communication = total - application_workers_;
  }
  // The last cores of a list are those for communication.
  if (!spec_.core_list.empty()) {
    cores_.erase(cores_.begin() + application_workers_, cores_.end() - communication);
  } else if (spec_.placement == Placement::kScatter) {
    auto cores = scatter_apart(*machine_, total, application_workers_, communication);
    MPC_TRY(cores);
    cores_ = std::move(*cores);
  } else {
    cores_ = spread_apart(application_workers_ + communication, communication);
  }
  progress_config_.application_workers = application_workers_;
  for (const int worker : progress_config_.list) {
    if (worker < static_cast<int>(cores_.size())) continue;
    return {Errc::kArg, fmt::format("progress.policy: there is no worker {}; this job has {}",
                                    worker, cores_.size())};
  }
  return {};
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
  MPC_TRY(choose_cores());
  for (size_t app = 0; app < spec_.apps.size(); ++app) {
    const AppSpec& wanted = spec_.apps[app];
    auto path = find_program(wanted.program);
    MPC_TRY(path);
    auto image = loader::Image::open(*path, {preloads(wanted)});
    MPC_TRY(image);
    Program program{std::move(*image), *path, {wanted.program}, merged_environment(wanted)};
    allow_many_openmp(*program.image, program.environment);
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
  auto placed = place();
  MPC_TRY(placed);
  worker_of_ = std::move(*placed);
  return {};
}

// The worker of each rank.
Result<std::vector<int>> NodeJob::place() const {
  const std::vector<int> cores(cores_.begin(), cores_.begin() + application_workers_);
  if (spec_.placement != Placement::kList) {
    return sched::place_ranks(*machine_, cores, size(),
                              spec_.placement == Placement::kScatter ? sched::Placement::kScatter
                                                                     : sched::Placement::kCompact);
  }
  const std::vector<int>& list = spec_.placement_list;
  for (const int worker : list) {
    if (worker < application_workers_) continue;
    return {Errc::kArg, fmt::format("--placement: there is no worker {} for ranks; this job has {}",
                                    worker, application_workers_)};
  }
  std::vector<int> out(ranks_.size());
  for (size_t r = 0; r < out.size(); ++r) out[r] = list[r % list.size()];
  return out;
}

std::string NodeJob::describe() const {
  std::string out =
      fmt::format("{} rank{} on {} worker{}\n", size(), size() == 1 ? "" : "s",
                  cores_.size(), cores_.size() == 1 ? "" : "s");
  if (!spec_.emulate.empty()) {
    out += fmt::format("emulated machine: {}, {} cores\n", machine_->name(),
                       machine_->core_count());
  }
  for (size_t app = 0; app < programs_.size(); ++app) {
    out += fmt::format("program {}:", app);
    for (const std::string& word : programs_[app].arguments) out += " " + word;
    out += fmt::format("   ({})\n", programs_[app].path);
  }
  for (size_t worker = 0; worker < cores_.size(); ++worker) {
    std::vector<int> ranks;
    for (int r = 0; r < size(); ++r) {
      if (worker_of_[r] == static_cast<int>(worker)) ranks.push_back(r);
    }
    const bool is_dedicated = static_cast<int>(worker) >= application_workers_;
    out += fmt::format("worker {} on core {} (PU {}): {}\n", worker, cores_[worker],
                       machine_->core(cores_[worker]).os_pu,
                       is_dedicated ? "communication" : "ranks " + format_ranks(ranks));
  }
  out += fmt::format("progress threads: {}\n", sched::name_of(progress_config_.policy));
  out += "settings changed from their defaults:";
  bool any = false;
  for (const SettingBase* setting : Settings::all()) {
    if (setting->is_default()) continue;
    any = true;
    out += fmt::format("\n  {} = {} {}", setting->name(), setting->text(), setting->unit());
  }
  out += any ? "\n" : " none\n";
  return out;
}

Result<> NodeJob::load_copies() {
  loader::set_foreign_exit([](loader::Copy& copy, int status) {
    existing()->abort(status & 0xff,
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
      return {copy.error().code, fmt::format("rank {} of {}: {}", rank->world_rank, size(),
                                             copy.error().message)};
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
  job.application_workers = application_workers_;
  job.cores = cores_;
  job.rank_of = [](void* who) { return static_cast<const Rank*>(who)->world_rank; };
  trace::set_who_source([] { return sched::Execution::self().identity(); });
  return trace::TraceFile::open(spec_.trace_file, job);
}

void NodeJob::rank_main(Rank& rank) {
  trace::introduce(trace::Role::kRank, &rank);
  RankRun run;
  rank.run = &run;
  rank.phase.store(kBeforeInit, std::memory_order_relaxed);
  if (_setjmp(run.first_frame) == 0) {
    hooks::run_rank_start(rank);
    const Program& program = programs_[rank.app_index];
    std::vector<char*> arguments = pointers_to(program.arguments);
    std::vector<char*> environment = pointers_to(program.environment);
    run.status = rank.copy->run_main(static_cast<int>(program.arguments.size()),
                                     arguments.data(), environment.data());
  }
  rank_ended(rank, static_cast<RankRun*>(rank.run)->status);
}

void NodeJob::end_rank(int status) {
  Rank* rank = current_rank();
  CHECK(rank != nullptr, "end_rank() by a thread that is no rank");
  if (&sched::Execution::self() != rank->execution) {
    abort(status & 0xff,
          fmt::format("mpcrun: rank {} called exit({}) from a thread that is not its main "
                      "thread; the job is ended",
                      rank->world_rank, status));
  }
  auto* run = static_cast<RankRun*>(rank->run);
  run->status = status;
  _longjmp(run->first_frame, 1);
}

void NodeJob::rank_ended(Rank& rank, int status) {
  const int phase = rank.phase.load(std::memory_order_relaxed);
  // Before the mailboxes go: an item wakes other ranks after it has completed what they wait for.
  if (rank.progress != nullptr) rank.progress->stop();
  hooks::run_rank_end(rank);
  rank.phase.store(kEnded, std::memory_order_release);
  if ((status & 0xff) != 0) {
    abort(status & 0xff,
          fmt::format("mpcrun: rank {} of {} ({}) exited with status {}{}; the job is ended",
                      rank.world_rank, size(), programs_[rank.app_index].path,
                      status & 0xff,
                      phase == kInMpi ? " without calling MPI_Finalize" : ""));
  }
  if (phase == kInMpi && size() > 1) {
    // The others may wait for this rank for ever: MPI-4.1 section 11.2.2 wants MPI_Finalize.
    abort(1, fmt::format("mpcrun: rank {} of {} ({}) ended without calling MPI_Finalize; "
                         "the job is ended",
                         rank.world_rank, size(), programs_[rank.app_index].path));
  }
  ended_count_.fetch_add(1, std::memory_order_relaxed);
}

// What assert(), error() and warn() of the program print; libc has one name for all ranks.
void name_process_after(const std::string& path) {
  static std::string name;
  name = path;
  program_invocation_name = name.data();
  program_invocation_short_name = name.data() + (name.rfind('/') + 1);
}

Result<int> NodeJob::run() {
  set_current_job(this);
  if (programs_.size() == 1) name_process_after(programs_.front().path);
  start_ns_ = sched::now_ns();
  MPC_TRY(load_copies());
  sched::SchedulerConfig config;
  config.machine = machine_.get();
  config.cores = cores_;
  config.bind = spec_.bind;
  config.stack_bytes = spec_.stack_bytes;
  if (steals.get()) config.steal_below = application_workers_;
  if (progress_config_.policy == sched::ProgressPolicy::kClosest)
    config.steal_from = application_workers_;
  config.on_kernel_thread = &crash::prepare_kernel_thread;
  SignalThread::block_in_this_thread();
  auto scheduler = sched::Scheduler::start(config);
  MPC_TRY(scheduler);
  scheduler_ = std::move(*scheduler);
  scheduler_->set_quiescence_handler([this] { abort(kExitDeadlock, deadlock_report(*this)); });
  crash::install();
  SignalThread signals(*this, spec_.timeout_seconds);
  make_progress_threads();
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
  if (ending_.exchange(true, std::memory_order_acq_rel)) {
    for (;;) ::pause();  // another thread is in abort(), and ends the process
  }
  hooks::run_job_end(*this);
  print_counters();
  return 0;
}

void NodeJob::abort(int exit_code, const std::string& message) {
  if (ending_.exchange(true, std::memory_order_acq_rel)) {
    for (;;) ::pause();  // another thread is ending the process
  }
  hooks::run_job_end(*this);
  print_counters();
  if (!message.empty()) {
    std::string line = message;
    if (line.back() != '\n') line += '\n';
    [[maybe_unused]] const ssize_t ignored =
        ::write(STDERR_FILENO, line.data(), line.size());
  }
  trace::TraceFile::write();  // last: the report does not wait for it
  ::_exit(exit_code);
}

}  // namespace mpc::job
