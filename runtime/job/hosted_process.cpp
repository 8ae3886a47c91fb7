#include "runtime/job/hosted_process.h"

#include <atomic>

#include "runtime/job/job.h"
#include "runtime/wireup/hosted.h"
#include "runtime/wireup/wireup.h"

namespace mpc::job {
namespace {

thread_local constinit bool t_is_nobodys = false;

}  // namespace

// The variable is removed from the environment later.
bool is_hosted_process() noexcept {
  static constinit std::atomic<int> is_hosted{-1};
  int known = is_hosted.load(std::memory_order_relaxed);
  if (known < 0) {
    known = wireup::has_shim() ? 1 : 0;
    is_hosted.store(known, std::memory_order_relaxed);
  }
  return known == 1;
}

void note_finalized(Rank& rank) noexcept {
  if (is_hosted_process()) rank.job->wireup()->tell(wireup::Report::kFinalized, 0, {});
}

void be_nobodys_thread() noexcept { t_is_nobodys = true; }
bool is_nobodys_thread() noexcept { return t_is_nobodys; }

}  // namespace mpc::job
