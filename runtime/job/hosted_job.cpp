#include "runtime/job/hosted_job.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/fnv.h"
#include "base/log.h"
#include "base/service_thread.h"
#include "base/settings.h"
#include "runtime/job/build_id.h"
#include "runtime/job/card.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/hooks.h"
#include "runtime/job/host_map.h"
#include "runtime/job/hosted_output.h"
#include "runtime/job/hosted_process.h"
#include "runtime/job/leaving.h"
#include "runtime/job/losses.h"
#include "runtime/job/report.h"
#include "runtime/job/spawned_words.h"
#include "runtime/job/spawner.h"
#include "runtime/job/spawner_watch.h"
#include "runtime/job/universe.h"
#include "runtime/wireup/hosted.h"
#include "scheduler/poll/thread_polls.h"

namespace mpc::job {
namespace {

// Set when it has started; lives as long as the process.
constinit HostedJob* g_hosted = nullptr;

// Runs before those exit handlers of libraries that the network needs; handlers that the program
// has registered since MPI_Init run first.
void at_exit(int status, void*) {
  if (g_hosted != nullptr) g_hosted->process_exits(status & 0xff);
}

std::string own_program() {
  std::string path(4096, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return path;
}

int exit_status_of(Errc code) { return code == Errc::kArg ? kExitUsage : kExitLaunch; }

}  // namespace

HostedJob::HostedJob(std::unique_ptr<wireup::Wireup> wireup, int program)
    : wireup_(std::move(wireup)), process_(::getpid()), program_(own_program()) {
  const int index = wireup_->index(), size = wireup_->size();
  processes_ = ProcessMap::in_blocks(size, size);
  local_ = {index, index + 1};
  rank_.job = this;
  rank_.world_rank = index;
  rank_.world_size = size;
  rank_.app_index = program;
  rank_.phase.store(kBeforeInit, std::memory_order_relaxed);
}

// --- the start ----------------------------------------------------------------------------------

Result<> HostedJob::start() {
  MPC_TRY(Settings::load_environment());
  start_ns_ = sched::now_ns();
  std::string port, parent;
  if (read_spawner(&port, &parent)) {
    set_spawner(port);
    if (wireup_->index() == 0) MPC_TRY(watch_spawner(*this, parent));
  }
  if (wireup_->goes_on()) {
    losses::survive(size());
    wireup_->on_loss([](int process) { losses::announce(process); });
  }
  if (size() > 1) MPC_TRY(meet_others());
  const WithoutSignals during;  // signals are for the program's threads
  MPC_TRY(start_scheduler());
  wireup_->on_order([this](wireup::Order order, int) { obey(order); });
  MPC_TRY(hooks::run_job_start(*this));
  rank_.execution = &sched::Execution::self();
  rank_.execution->set_identity(&rank_);
  return {};
}

Result<> HostedJob::meet_others() {
  {
    const WithoutSignals during;
    MPC_TRY(hooks::run_wireup(*this));
  }
  Card mine;
  mine.ranks = size();
  mine.local = local_;
  mine.application_workers = sched::allowed_core_count();
  mine.cores = sched::allowed_core_count();
  mine.host = host_identity();
  mine.settings = fnv_of(settings_text());
  mine.workers = {own_core(mine.application_workers)};
  mine.builds = {build_of_this_library()};  // each rank may have a program of its own
  auto cards = exchange_cards(*wireup_, mine);
  MPC_TRY(cards);
  if (const std::string other = other_build(*cards, {"libmpi_abi.so.1"});
      !other.empty() && wireup_->index() == 0)
    log::warn("{}", other);
  std::vector<uint64_t> hosts;
  for (const Card& card : *cards) hosts.push_back(card.host);
  const HostMap map(hosts);
  set_cores_of_job(cores_of(*cards));
  for (int rank = 0; rank < size(); ++rank)
    tree_places_.push_back(map.host_of(rank) * size() +
                           (*cards)[static_cast<size_t>(rank)].workers[0]);
  set_host_map(map);
  return {};
}

// The core to which this process counts in trees of collectives. If processes outnumber the cores, a message
// costs less than waiting for the receiver's turn on a core: then the tree is flat, unless its root would have very
// many children.
int HostedJob::own_core(int cores) const noexcept {
  constexpr int kMostChildren = 64;
  const int processes = wireup_->local_size();
  return processes > cores && processes <= kMostChildren
             ? 0
             : wireup_->local_index() % cores;
}

// The rank itself polls while it waits; the worker polls while the rank computes or sleeps.
Result<> HostedJob::start_scheduler() {
  sched::SchedulerConfig config;
  config.cores = {0};
  config.bind = false;
  const int cores = sched::allowed_core_count();
  config.processes_per_core = std::max(1, (wireup_->local_size() + cores - 1) / cores);
  config.on_kernel_thread = &be_nobodys_thread;
  auto scheduler = sched::Scheduler::start(config);
  MPC_TRY(scheduler);
  scheduler_ = std::move(*scheduler);
  sched::let_kernel_threads_poll(*scheduler_);
  return {};
}

// Children are a job of their own (docs/design/0042), where there can be any.
int HostedJob::universe_size() const noexcept {
  return losses::are_survived() ? size() : universe_of(size());
}

// --- the end ------------------------------------------------------------------------------------

std::string HostedJob::who() const {
  return fmt::format("mpcrun: rank {} of {} ({})", rank_.world_rank, size(), program_);
}

void HostedJob::abort(int exit_code, const std::string& message) {
  if (::getpid() != process_) {  // a forked child: it ends alone
    std::fprintf(stderr, "%s\n", message.c_str());
    ::_exit(exit_code);
  }
  const bool is_first = ending_.request(exit_code, &message, Grace::kNone);
  hooks::run_job_end(*this);
  std::fflush(nullptr);
  if (is_first) wireup_->tell(wireup::Report::kEnding, exit_code, message);
  ::_exit(exit_code);
}

// The others may continue without this process: then only this process ends.
void HostedJob::die(int exit_code, const std::string& message) {
  if (!wireup_->goes_on()) abort(exit_code, message);
  hooks::run_job_end(*this);
  std::fflush(nullptr);
  wireup_->tell(wireup::Report::kDeath, exit_code, message);
  ::_exit(exit_code);
}

void HostedJob::note_failure(int exit_code, const std::string& message) {
  wireup_->tell(wireup::Report::kFailure, exit_code, message);
}

void HostedJob::note_refusal(int exit_code, const std::string& message) {
  wireup_->tell(wireup::Report::kRefusal, exit_code, message);
}

void HostedJob::end_rank(int status) { std::exit(status); }

// The shim reports the status, because it sees the end of the whole command.
void HostedJob::process_exits(int status) {
  if (::getpid() != process_) return;
  const int phase = rank_.phase.load(std::memory_order_relaxed);
  if (phase == kInMpi && (size() > 1 || status != 0))
    die(std::max(status, 1),
        status == 0
            ? who() + " ended without calling MPI_Finalize; the job is ended"
            : fmt::format("{} exited with status {} without calling MPI_Finalize; the "
                          "job is ended",
                          who(), status));
  if (phase == kBeforeInit && status != 0) return;  // no process waits for this one yet
  leave_together();
}

// Like a NodeJob: no process exits while others may need it.
void HostedJob::leave_together() {
  is_leaving_.store(true, std::memory_order_seq_cst);  // obey() reads it
  hooks::run_rank_end(rank_);
  rank_.phase.store(kEnded, std::memory_order_release);
  leave_network(*wireup_, *scheduler_);
  wireup_->tell(wireup::Report::kFinished, 0, {});
  wireup_->finalize();
  hooks::run_job_over(*this);
  hooks::run_job_end(*this);
}

// Called on the thread that listens to the launcher.
void HostedJob::obey(wireup::Order order) {
  if (order == wireup::Order::kAskTable)
    return give_table(*this, [this](const std::string& table) {
      wireup_->tell(wireup::Report::kTable, 0, table);
    });
  static const std::string nothing;
  const bool has_grace = order == wireup::Order::kEndSoon;
  if (!ending_.request(0, &nothing, has_grace ? Grace::kLastWords : Grace::kNone))
    return;
  if (!is_leaving_.load(std::memory_order_seq_cst)) let_rank_go_on();
  std::fflush(nullptr);
  ::_exit(1);  // the launcher knows the status
}

// What it is about to print belongs to the failure of another rank: see NodeJob::let_others_go_on().
void HostedJob::let_rank_go_on() {
  constexpr uint64_t kPauseNs = 5'000'000;
  const uint64_t end_ns = sched::now_ns() + ending_.grace_ns();
  for (int quiet_looks = 0; quiet_looks < 2 && sched::now_ns() < end_ns;) {
    const timespec pause{0, kPauseNs};
    ::nanosleep(&pause, nullptr);
    bool can_go_on = false;
    scheduler_->for_each_execution([&](const sched::Execution& execution) {
      if (execution.identity() == nullptr) return;
      const sched::WaitReason* reason = execution.wait_reason();
      can_go_on = can_go_on || reason == nullptr || execution.has_deadline() ||
                  reason->can_end_by_itself();
    });
    quiet_looks = can_go_on ? 0 : quiet_looks + 1;
  }
}

Job* create_hosted() {
  const int program = wireup::program_number();
  auto wireup = wireup::connect_hosted();
  if (!wireup) {
    if (!wireup.error().message.empty())
      std::fprintf(stderr, "mpcrun: %s\n", wireup.error().message.c_str());
    ::_exit(kExitLaunch);
  }
  wireup::Wireup& launcher = **wireup;
  auto* const job = new HostedJob(std::move(*wireup), program);
  if (const auto started = job->start(); !started) {
    const int status = exit_status_of(started.error().code);
    launcher.tell(wireup::Report::kEnding, status,
                  "mpcrun: " + started.error().message);
    ::_exit(status);
  }
  g_hosted = job;
  ::on_exit(&at_exit, nullptr);
  write_lines_at_once();
  return job;
}

}  // namespace mpc::job
