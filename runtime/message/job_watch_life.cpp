// The JobWatch of this process's job: which ranks it watches, and what happens on a deadlock.
#include <numeric>

#include "runtime/job/exit_status.h"
#include "runtime/message/job_watch.h"
#include "runtime/wireup/wireup.h"

namespace mpc::msg {
namespace {

// Never destroyed: the monitor may be calling it when the job ends.
constinit JobWatch* g_watch = nullptr;

std::vector<int> processes_here(job::Job& job) {
  if (job.has_other_processes()) return {job.wireup()->index()};
  std::vector<int> all(static_cast<size_t>(job.processes().processes()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool have_ended(job::Job& job, int process) {
  const job::RankRange ranks = job.processes().ranks_of(process);
  for (int r = ranks.first; r < ranks.end; ++r)
    if (job.rank(r).phase.load(std::memory_order_acquire) != job::kEnded) return false;
  return true;
}

// All ranks of this process have ended, and the process waits for those of other processes.
bool is_leaving(job::Job& job) {
  return job.is_ending() && job.has_other_processes() &&
         have_ended(job, job.wireup()->index());
}

// Ranks that wait for the job's end are no deadlock; the code that waits for them notices itself.
void end_deadlock(job::Job& job, const std::string& table) {
  const std::string report = job::deadlock_report(table);
  if (is_leaving(job)) {
    job.wireup()->tell(wireup::Report::kEnding, job::kExitDeadlock, report);
  } else if (!job.is_ending()) {
    job.abort(job::kExitDeadlock, report);
  }
}

}  // namespace

void prepare_job_watch(job::Job& job, bool (*has_one_caller)()) {
  if (job.processes().is_one_process()) return;
  g_watch = new JobWatch(
      job.processes(), processes_here(job), *job.scheduler(),
      {.have_ended = [&job](int process) { return have_ended(job, process); },
       .rows =
           [&job](int process) {
             return job::state_rows(job, job.processes().ranks_of(process));
           },
       .is_ending = [&job] { return job.is_ending() && !is_leaving(job); },
       .is_known_process = [&job, has_one_caller](
                               int) { return job.is_singleton() && has_one_caller(); },
       .on_deadlock = [&job](const std::string& table) { end_deadlock(job, table); }});
}

Result<> start_job_watch() {
  if (g_watch == nullptr) return {};
  MPC_TRY(g_watch->start());
  job::set_table_source(g_watch);
  return {};
}

void stop_job_watch() noexcept {
  if (g_watch == nullptr) return;
  job::set_table_source(nullptr);
  g_watch->stop();
}

}  // namespace mpc::msg
