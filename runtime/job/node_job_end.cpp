// How a NodeJob ends before its ranks have ended, and what is written last.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/settings.h"
#include "runtime/job/console.h"
#include "runtime/job/crash.h"
#include "runtime/job/death.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/hooks.h"
#include "runtime/job/node_job.h"
#include "runtime/job/rank_signals.h"
#include "runtime/job/signals.h"
#include "runtime/trace/trace_file.h"

namespace mpc::job {
// The status at the job's end, when everything that can be written has been.
int NodeJob::exit_status() const {
  const int status = ending_.status();
  return status == 0 && !ending_.is_abort() && !console::loss().empty() ? kExitOutput
                                                                        : status;
}

void NodeJob::abort(int exit_code, const std::string& message) {
  prepare_abort(exit_code, message);
  if (request(exit_code, &message,
              current_rank() != nullptr ? Grace::kLastWords : Grace::kNone))
    signals_->finish_job();
  wait_for_end();
}

// Caller: a rank.
void NodeJob::die(int exit_code, const std::string& message) {
  prepare_abort(exit_code, message);
  if (request_death(exit_code, message)) signals_->finish_job();
  wait_for_end();
}

// The other kinds of jobs have no rank that calls this: a hosted one is a process, and dies as one.
void die(const Rank& rank, int exit_code, const std::string& message) {
  Job& job = *rank.job;
  if (auto* const node = dynamic_cast<NodeJob*>(&job)) node->die(exit_code, message);
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): a rank has a job
  job.abort(exit_code, message);
  __builtin_unreachable();  // gcc loses the attribute for virtual functions
}

void NodeJob::prepare_abort(int exit_code, const std::string& message) {
  if (console::is_forked_child()) {  // a separate process: it ends alone
    hooks::run_job_end(*this);
    console::say(message);
    ::_exit(exit_code);
  }
  Rank* rank = current_rank();
  if (rank != nullptr && !crash::is_reporting_thread()) hooks::run_rank_failure(*rank);
}

bool NodeJob::request_end(int exit_code, const std::string& message,
                          Grace grace) noexcept {
  return request(exit_code, &message, grace);
}

bool NodeJob::claim_end() noexcept {
  if (!request(0, nullptr, Grace::kLastWords)) return false;
  ending_thread_.store(::gettid(), std::memory_order_relaxed);
  return true;
}

bool NodeJob::ends_here() const noexcept {
  return ending_thread_.load(std::memory_order_relaxed) == ::gettid();
}

void NodeJob::last_words() noexcept {
  print_records();
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

// Threads of ranks that run, or whose wait ends by itself; or by what another process does, which
// only ranks that handle a signal may wait for: these go on with the program.
int NodeJob::count_that_can_go_on() const {
  const bool others_go_on =
      ending_.grace() == Grace::kHandlers && has_other_processes();
  int count = 0;
  scheduler_->for_each_execution([&](const sched::Execution& execution) {
    if (execution.identity() == nullptr || &execution == crash::reporter()) return;
    const sched::WaitReason* reason = execution.wait_reason();
    const bool may_be_woken =
        others_go_on && dynamic_cast<const EndOfJob*>(reason) == nullptr;
    if (reason == nullptr || execution.has_deadline() || reason->can_end_by_itself() ||
        may_be_woken)
      ++count;
  });
  return count;
}

// What the others are about to print belongs to the failure: often all ranks find the same error,
// and one of them says what it is. They continue until all of them have failed, too, have ended or
// wait for another one (seen twice: background work may be about to wake one), or the time is over.
// The time begins again, within a limit, with each rank that finishes: the system may let us run
// only a little. Ranks that handle the signal which ends the job have its time from the beginning.
void NodeJob::let_others_go_on() {
  const uint64_t grace_ns = ending_.grace_ns();
  if (grace_ns == 0) return;
  // Ranks behind one that computes must get their turn within this time.
  [[maybe_unused]] const auto ignored = Settings::assign("sched.preempt_ms=10");
  constexpr uint64_t kFirstPauseNs = 250'000, kLastPauseNs = 5'000'000,
                     kMostGraces = 10;
  uint64_t end_ns = sched::now_ns() + grace_ns;
  const uint64_t last_ns = ending_.grace() == Grace::kHandlers
                               ? end_ns
                               : sched::now_ns() + kMostGraces * grace_ns;
  int fewest = std::numeric_limits<int>::max();
  int quiet_looks = 0;
  for (uint64_t pause_ns = kFirstPauseNs; quiet_looks < 2;
       pause_ns = std::min(2 * pause_ns, kLastPauseNs)) {
    const uint64_t now = sched::now_ns();
    if (now >= end_ns) return;
    // The second check that finds nothing comes late enough for
    // a rank that the system has not run meanwhile.
    const uint64_t next_ns = quiet_looks == 0 ? pause_ns : kLastPauseNs;
    const timespec pause{0, static_cast<long>(std::min(next_ns, end_ns - now))};
    ::nanosleep(&pause, nullptr);
    // Ranks whose handlers for a signal that ends the job have not begun. Not from the handler of a crash: it must not
    // wake anybody.
    const int late = crash::is_reporting_thread() ? 0 : rank_signals::push();
    const int count = late + count_that_can_go_on();
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
  print_records();
  say_last_words();
  // Last: the report does not wait for it.
  if (!trace::TraceFile::write()) has_whole_records_ = false;
  const int status = exit_status();
  ::_exit(
      wireup_->end_together(status == 0 && !has_whole_records_ ? kExitOutput : status));
}

}  // namespace mpc::job
