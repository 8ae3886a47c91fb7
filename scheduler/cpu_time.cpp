#include "scheduler/cpu_time.h"

#include "scheduler/carrier.h"
#include "scheduler/ult.h"

namespace mpc::sched {

uint64_t cpu_time_ns(Execution& execution) noexcept {
  if (!execution.is_ult()) return 0;
  auto& ult = static_cast<Ult&>(execution);
  if (&execution == &Execution::self()) ult.carrier().account.charge(&ult.cpu_time_ns);
  return ult.cpu_time_ns.load(std::memory_order_relaxed);
}

}  // namespace mpc::sched
