#include "runtime/job/registry.h"

#include <atomic>
#include <mutex>

#include "runtime/job/hooks.h"
#include "runtime/job/hosted_job.h"
#include "runtime/job/hosted_process.h"
#include "runtime/job/singleton.h"

namespace mpc::job {
namespace {

constinit std::atomic<Job*> g_job{nullptr};
constinit std::mutex g_creating;

}  // namespace

void set_current_job(Job* job) noexcept {
  g_job.store(job, std::memory_order_release);  // pairs with existing()
}

Job* Job::existing() noexcept { return g_job.load(std::memory_order_acquire); }

// All threads of a process that is its rank act for the rank, whichever thread started them.
Rank* adopt_singleton_thread() noexcept {
  Job* job = Job::existing();
  if (job == nullptr || !job->is_singleton() || is_nobodys_thread()) return nullptr;
  Rank& rank = job->rank(job->local_ranks().first);
  sched::Execution::self().set_identity(&rank);
  return &rank;
}

Job& Job::instance() {
  if (Job* job = existing()) return *job;
  std::unique_lock lock(g_creating);
  if (Job* job = existing()) return *job;
  // A hosted one meets the others first: threads that its
  // libraries start meanwhile act for no rank.
  Job* const job = is_hosted_process() ? create_hosted() : create_singleton();
  // Published before the hooks run, because they call instance() themselves.
  set_current_job(job);
  lock.unlock();
  hooks::run_rank_start(job->rank(job->local_ranks().first));
  return *job;
}

}  // namespace mpc::job
