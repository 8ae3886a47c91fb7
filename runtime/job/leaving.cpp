#include "runtime/job/leaving.h"

#include "scheduler/poll/poller.h"

namespace mpc::job {

void leave_network(wireup::Wireup& wireup, sched::Scheduler& scheduler) noexcept {
  wireup.leave();
  if (wireup.goes_on() || wireup.size() < 2) return;
  scheduler.poller().remove_all(sched::EventReach::kOtherProcesses);
  wireup.leave();
}

}  // namespace mpc::job
