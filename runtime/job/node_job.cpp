#include "runtime/job/node_job.h"

#include <fmt/format.h>
#include <setjmp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "base/rank_heap.h"
#include "base/settings.h"
#include "base/trace.h"
#include "runtime/job/crash.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/hooks.h"
#include "runtime/job/host_map.h"
#include "runtime/job/interpreter.h"
#include "runtime/job/loading.h"
#include "runtime/job/lone_child.h"
#include "runtime/job/openmp.h"
#include "runtime/job/program_files.h"
#include "runtime/job/registry.h"
#include "runtime/job/report.h"
#include "runtime/job/signals.h"
#include "runtime/job/spawner_watch.h"
#include "runtime/job/start_block.h"
#include "scheduler/limits.h"

namespace mpc::job {

// Where exit() of a rank returns to: the first frame of its user-level thread.
struct RankRun {
  jmp_buf first_frame;
  int status = 0;
};

namespace {

const char* const kAllocators[] = {"rank", "system"};
// tools/mpcrun/heap.cpp reads it, before this library is loaded.
EnumSetting allocator_setting{"job.allocator", 0, kAllocators, 2,
                              "Where ranks allocate: rank (each from memory of its "
                              "own, with huge pages for large arrays, "
                              "unless another allocator is preloaded) or system "
                              "(libc's malloc, one for all ranks)"};

Result<std::unique_ptr<loader::Image>> load(const Start& start, const AppSpec& app) {
  const Loading loading(start.path, kExitNotExecutable);
  std::vector<std::string> libraries = preloads(app);
  libraries.insert(libraries.end(), start.libraries.begin(), start.libraries.end());
  return loader::Image::open(start.image, {std::move(libraries)});
}

}  // namespace

NodeJob::NodeJob(const JobSpec& spec, std::unique_ptr<wireup::Wireup> wireup)
    : spec_(spec), wireup_(std::move(wireup)) {}
NodeJob::~NodeJob() { set_current_job(nullptr); }

const std::string& NodeJob::program(int app_index) const {
  const auto index = static_cast<size_t>(app_index);
  // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): it was put there before
  return index < programs_.size()
             ? programs_[index].path
             : spawned_programs_.get(index - programs_.size())->path;
}
const NodeJob::Program& NodeJob::program_of(const Rank& rank) const noexcept {
  const auto index = static_cast<size_t>(rank.app_index);
  // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): it was put there before
  return index < programs_.size() ? programs_[index]
                                  : *spawned_programs_.get(index - programs_.size());
}
int NodeJob::worker_of(int world_rank) const noexcept {
  const size_t index = local_index(world_rank);
  return index < worker_of_.size() ? worker_of_[index] : spawned(world_rank).worker;
}

// Creates it without its image.
Result<NodeJob::Program> NodeJob::make_program(const AppSpec& wanted, Start* start) {
  Program program;
  program.environment = merged_environment(wanted);
  remove_rank_variables(program.environment);
  auto found = find_start(wanted, program.environment);
  MPC_TRY(found);
  *start = std::move(*found);
  program.path = start->path;
  program.file = start->file;
  program.arguments = start->arguments;
  program.libraries = start->libraries;
  return program;
}

void NodeJob::take_image(Program& program, std::shared_ptr<loader::Image> image) {
  program.image = std::move(image);
  allow_many_openmp(*program.image, program.environment);
  program.has_team = has_openmp_threads(*program.image, program.environment);
}

// A program that the command line names twice is loaded once.
Result<> NodeJob::open_image(Program& program, const Start& start,
                             const AppSpec& wanted) {
  for (size_t i = 0; i < programs_.size(); ++i) {
    const Program& known = programs_[i];
    if (known.image == nullptr || known.file != program.file ||
        known.libraries != program.libraries ||
        preloads(spec_.apps[i]) != preloads(wanted))
      continue;
    take_image(program, known.image);
    return {};
  }
  auto image = load(start, wanted);
  MPC_TRY(image);
  take_image(program, std::move(*image));
  return {};
}

// Its ranks begin with first_rank.
Result<> NodeJob::add_program(const AppSpec& wanted, int first_rank) {
  Start start;
  auto made = make_program(wanted, &start);
  MPC_TRY(made);
  Program& program = *made;
  program.first_rank = first_rank;
  program.working_directory = wanted.working_directory;
  program.local = {std::max(first_rank, local_.first),
                   std::min(first_rank + wanted.ranks, local_.end)};
  if (program.local.size() > 0) {
    MPC_TRY(open_image(program, start, wanted));
  }
  for (int r = program.local.first; r < program.local.end; ++r) {
    auto rank = std::make_unique<Rank>();
    rank->world_rank = r;
    rank->world_size = size();
    rank->app_index = static_cast<int>(programs_.size());
    rank->job = this;
    ranks_.push_back(std::move(rank));
  }
  programs_.push_back(std::move(program));
  return {};
}

Result<> NodeJob::prepare() {
  MPC_TRY(divide_ranks());
  int first_rank = 0;
  for (const AppSpec& wanted : spec_.apps) {
    MPC_TRY(add_program(wanted, first_rank));
    first_rank += wanted.ranks;
  }
  MPC_TRY(choose_cores());
  auto placed = place();
  MPC_TRY(placed);
  worker_of_ = std::move(*placed);
  for (Program& program : programs_)
    if (program.image)
      let_openmp_wait(*program.image, program.environment, units_of_ranks());
  return tell_others();
}

// A size that the user asks for here is granted or refused; the shell's limit is only a wish.
size_t NodeJob::stack_bytes() const {
  const bool is_given =
      spec_.stack_bytes != 0 && spec_.stack_bytes != sched::kUnlimitedStack;
  if (is_given) return spec_.stack_bytes;
  return sched::possible_stack_bytes(
      spec_.stack_bytes != 0 ? spec_.stack_bytes : sched::stack_limit(),
      static_cast<size_t>(local_count()));
}

Result<> NodeJob::load_instances() {
  loader::set_foreign_exit([](loader::ProgramInstance& instance, int status) {
    static_cast<NodeJob*>(existing())
        ->die(status & 0xff,
              fmt::format("mpcrun: rank {} called exit({}) from a thread that is not "
                          "its main thread; the job is ended",
                          instance.rank(), status));
  });
  for (Program& program : programs_) {
    if (program.image)
      MPC_TRY(program.image->reserve(static_cast<size_t>(program.local.size())));
  }
  for (auto& rank : ranks_) {
    auto instance = programs_[rank->app_index].image->load_instance(rank->world_rank);
    if (!instance) {
      return {instance.error().code, fmt::format("rank {} of {}: {}", rank->world_rank,
                                                 size(), instance.error().message)};
    }
    rank->instance = *instance;
  }
  return {};
}

std::vector<std::string> NodeJob::environment_of(const Rank& rank) const {
  const Program& program = program_of(rank);
  const auto app = static_cast<size_t>(rank.app_index);
  std::vector<std::string> out = program.environment;
  // Spawned programs have nothing of their own.
  if (app < spec_.apps.size() && !spec_.apps[app].own_environment.empty()) {
    const auto index = static_cast<size_t>(rank.world_rank - program.first_rank);
    out = changed_environment(std::move(out), spec_.apps[app].own_environment[index]);
  }
  add_rank_variables(out, numbers_of(rank));
  if (!mark_for_children_.empty()) out.push_back(mark_for_children_);
  return out;
}

RankNumbers NodeJob::numbers_of(const Rank& rank) const {
  const World world = world_of(rank.world_rank);
  RankNumbers out;
  out.rank = out.local_rank = rank.world_rank - world.first;
  out.size = out.local_size = world.size;
  const HostMap& hosts = host_map();
  const bool is_spawned = world.parent >= 0;  // all of them are in this process
  if (hosts.hosts() == 1 || is_spawned) return out;
  const int own = processes_.process_of(rank.world_rank);
  out.local_rank = rank.world_rank - processes_.ranks_of(own).first;
  out.local_size = 0;
  for (int p = 0; p < processes_.processes(); ++p) {
    if (hosts.host_of(p) != hosts.host_of(own)) continue;
    out.local_size += processes_.ranks_of(p).size();
    if (p < own) out.local_rank += processes_.ranks_of(p).size();
  }
  return out;
}

void NodeJob::rank_main(Rank& rank) {
  enter_rank_heap(rank.world_rank, node_of(rank));
  trace::introduce(trace::Role::kRank, &rank);
  RankRun run;
  rank.run = &run;
  rank.phase.store(kBeforeInit, std::memory_order_relaxed);
  if (_setjmp(run.first_frame) == 0) {
    const Program& program = program_of(rank);
    const StartBlock& start = StartBlock::give(
        rank, std::make_unique<StartBlock>(program.arguments, environment_of(rank),
                                           program.path, program.file));
    hooks::run_rank_start(rank);
    if (!program.working_directory.empty() &&
        ::chdir(program.working_directory.c_str()) != 0)
      abort(kExitLaunch,
            fmt::format("mpcrun: rank {}: cannot work in {}: {}", rank.world_rank,
                        program.working_directory, std::strerror(errno)));
    run.status = rank.instance->run_main(start.argc(), start.argv(), start.envp());
  }
  rank_ended(rank, rank.run->status);
}

void NodeJob::end_rank(int status) {
  Rank* rank = current_rank();
  CHECK(rank != nullptr, "end_rank() by a thread that is no rank");
  if (&sched::Execution::self() != rank->execution) {
    die(status & 0xff,
        fmt::format(
            "mpcrun: rank {} called exit({}) from a thread that is not its main "
            "thread; the job is ended",
            rank->world_rank, status));
  }
  auto* run = rank->run;
  run->status = status;
  _longjmp(run->first_frame, 1);
}

void NodeJob::rank_ended(Rank& rank, int status) {
  const int phase = rank.phase.load(std::memory_order_relaxed);
  status &= 0xff;
  const std::string who = fmt::format("mpcrun: rank {} of {} ({})", rank.world_rank,
                                      rank.world_size, program_of(rank).path);
  if (status != 0 && phase != kAfterFinalize) {
    die(status, fmt::format("{} exited with status {}{}; the job is ended", who, status,
                            phase == kInMpi ? " without calling MPI_Finalize" : ""));
  }
  if (phase == kBeforeInit) check_spawned_end(rank);
  if (phase == kInMpi && rank.world_size > 1) {
    // The others may wait for this rank forever: MPI-4.1 section 11.2.2 requires MPI_Finalize.
    die(1, who + " ended without calling MPI_Finalize; the job is ended");
  }
  // After MPI_Finalize no rank waits for it, and the others may be writing their results.
  if (status != 0)
    note_failure(status, fmt::format("{} exited with status {}", who, status));
  // Before the mailboxes are destroyed: an item wakes other ranks
  // after it has completed what they wait for.
  if (rank.progress != nullptr) rank.progress->stop();
  hooks::run_rank_end(rank);
  rank.phase.store(kEnded, std::memory_order_release);
}

// The name that assert(), error() and warn() of the program print; libc has one for all ranks.
void name_process_after(const std::string& path) {
  static std::string name;
  name = path;
  program_invocation_name = name.data();
  program_invocation_short_name = name.data() + (name.rfind('/') + 1);
}

Result<> NodeJob::spawn_ranks() {
  // One process says it for all.
  if (wireup_->index() == 0 && size() > 1)
    mark_for_children_ = make_mark_for_children();
  for (auto& rank : ranks_) {
    sched::UltSpec ult;
    ult.entry = [this, r = rank.get()] { rank_main(*r); };
    ult.worker = worker_of(rank->world_rank);
    ult.identity = rank.get();
    ult.name = "rank";
    auto spawned = scheduler_->spawn(std::move(ult));
    if (!spawned) {
      return {spawned.error().code, fmt::format("rank {} of {}: {}", rank->world_rank,
                                                size(), spawned.error().message)};
    }
    // Relaxed: the ranks see it by release(); a report only compares it, see describe().
    std::atomic_ref(rank->execution).store(*spawned, std::memory_order_relaxed);
  }
  return {};
}

namespace {
void note_shared_heap() {
  if (!has_rank_heaps())
    log::debug(
        "job: all ranks share one heap (job.allocator=system, another allocator, or "
        "lib/mpc/libmpc_heap.so is missing)");
}
}  // namespace

Result<> NodeJob::start_scheduler() {
  sched::SchedulerConfig config;
  config.machine = machine_.get();
  config.cores = choice_.cores;
  config.bind = choice_.is_bound;
  config.stack_bytes = stack_bytes();
  config.processes_per_core = processes_per_core_;
  if (may_move_ranks()) config.steal_below = choice_.application_workers;
  if (progress_config_.policy == sched::ProgressPolicy::kClosest)
    config.steal_from = choice_.application_workers;
  config.on_kernel_thread = &crash::prepare_kernel_thread;
  SignalThread::block_in_this_thread();
  auto scheduler = sched::Scheduler::start(config);
  MPC_TRY(scheduler);
  scheduler_ = std::move(*scheduler);
  // The code that opens the network knows who waits for ranks
  // of another process: runtime/message/job_watch.h.
  if (!has_other_processes()) {
    scheduler_->set_quiescence_handler([this] {
      // Ranks that wait for the job's end are no deadlock; the
      // code that waits for them notices itself.
      if (!is_ending()) abort(kExitDeadlock, deadlock_report(table_of(*this)));
    });
  }
  return {};
}

Result<int> NodeJob::run() {
  set_current_job(this);
  note_shared_heap();
  if (programs_.size() == 1) name_process_after(programs_.front().path);
  start_ns_ = sched::now_ns();
  StartBlock::reserve(size());
  MPC_TRY(load_instances());
  MPC_TRY(start_scheduler());
  crash::install(*this);
  SignalThread signals(*this, wireup_->has_launcher() ? 0 : spec_.timeout_seconds);
  signals_ = &signals;
  wireup_->on_order([this](wireup::Order order, int number) { obey(order, number); });
  make_progress_threads();
  bind_workers();
  MPC_TRY(hooks::run_job_start(*this));
  MPC_TRY(start_profile());
  MPC_TRY(watch_spawner(*this, spec_.spawner_process));
  scheduler_->hold();
  MPC_TRY(spawn_ranks());
  scheduler_->release();
  scheduler_->wait_all();
  if (!ending_.request(0, nullptr, Grace::kNone))
    wait_for_end();  // a thread of a rank was first
  ending_thread_.store(::gettid(), std::memory_order_relaxed);
  close_records();
  leave_together();
  join_records();
  hooks::run_job_over(*this);
  hooks::run_job_end(*this);
  print_records();
  say_last_words();
  return exit_status();
}

}  // namespace mpc::job
