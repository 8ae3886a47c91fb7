#include "runtime/job/node_job.h"

#include <fmt/format.h>
#include <setjmp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

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
#include "runtime/job/program_files.h"
#include "runtime/job/registry.h"
#include "runtime/job/report.h"
#include "runtime/job/signals.h"
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
// tools/mpcrun/heap.cpp reads it, before this library is there.
EnumSetting allocator_setting{"job.allocator", 0, kAllocators, 2,
                              "Where ranks allocate: rank (each from memory of its "
                              "own, with huge pages for large arrays, "
                              "unless another allocator is preloaded) or system "
                              "(libc's malloc, one for all ranks)"};

// For the tests of what crosses processes, on every machine.
IntSetting virtual_processes{
    "job.virtual_processes",
    1,
    "processes",
    "For testing: the job behaves as if its ranks lived in so many processes: messages "
    "between them are encoded and pass a network, though it is only a queue in memory",
    1,
    1 << 20};

Result<std::unique_ptr<loader::Image>> load(const std::string& path,
                                            const AppSpec& app) {
  const Loading loading(path, kExitNotExecutable);
  return loader::Image::open(path, {preloads(app)});
}

}  // namespace

NodeJob::NodeJob(const JobSpec& spec) : spec_(spec) {}
NodeJob::~NodeJob() { set_current_job(nullptr); }

const std::string& NodeJob::program(int app_index) const {
  return programs_[app_index].path;
}
int NodeJob::worker_of(int world_rank) const noexcept { return worker_of_[world_rank]; }

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
  processes_ = ProcessMap::in_blocks(size(), static_cast<int>(virtual_processes.get()));
  MPC_TRY(choose_cores());
  auto placed = place();
  MPC_TRY(placed);
  worker_of_ = std::move(*placed);
  for (Program& program : programs_)
    let_openmp_wait(*program.image, program.environment, units_of_ranks());
  return {};
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

Result<> NodeJob::load_instances() {
  loader::set_foreign_exit([](loader::ProgramInstance& instance, int status) {
    existing()->abort(
        status & 0xff,
        fmt::format("mpcrun: rank {} called exit({}) from a thread that is not "
                    "its main thread; the job is ended",
                    instance.rank(), status));
  });
  for (size_t app = 0; app < programs_.size(); ++app) {
    MPC_TRY(programs_[app].image->reserve(static_cast<size_t>(spec_.apps[app].ranks)));
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
    run.status = rank.instance->run_main(start.argc(), start.argv(), start.envp());
  }
  rank_ended(rank, rank.run->status);
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
  auto* run = rank->run;
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

Result<int> NodeJob::run() {
  set_current_job(this);
  if (!has_rank_heaps())
    log::debug(
        "job: all ranks share one heap (job.allocator=system, another allocator, or "
        "lib/mpc/libmpc_heap.so is missing)");
  if (programs_.size() == 1) name_process_after(programs_.front().path);
  start_ns_ = sched::now_ns();
  StartBlock::reserve(size());
  MPC_TRY(load_instances());
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
  MPC_TRY(hooks::run_job_start(*this));
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

}  // namespace mpc::job
