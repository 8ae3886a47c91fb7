#include "runtime/job/job.h"

#include <unistd.h>

namespace mpc::job {

void Job::wait_for_end() noexcept {
  for (;;) ::pause();
}

}  // namespace mpc::job
