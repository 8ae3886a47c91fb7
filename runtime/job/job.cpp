#include "runtime/job/job.h"

#include <unistd.h>

#include "runtime/job/job_spec.h"

namespace mpc::job {

Result<World> Job::spawn(const std::vector<AppSpec>&, int) {
  return {Errc::kUnsupported,
          "ranks join the process only in a job that mpcrun has started as one"};
}

void Job::wait_for_end() noexcept {
  for (;;) ::pause();
}

}  // namespace mpc::job
