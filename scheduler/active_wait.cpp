#include "scheduler/active_wait.h"

#include "scheduler/worker.h"

namespace mpc::sched {

bool spins_on_its_worker(const Execution& execution) noexcept {
  const Worker* const worker = execution.worker();
  return worker != nullptr && worker->is_spinning.load(std::memory_order_relaxed);
}

}  // namespace mpc::sched
