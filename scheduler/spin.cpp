#include "scheduler/spin.h"

namespace mpc::sched::detail {

// Default: docs/scheduler.md section "Spinning" has the measurement.
IntSetting spin_us(
    "sched.spin_us", 20, "us",
    "How long a waiting rank polls before it sleeps, if no other rank of its "
    "worker is ready",
    0, 1'000'000);

}  // namespace mpc::sched::detail
