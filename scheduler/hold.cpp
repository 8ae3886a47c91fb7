#include "scheduler/hold.h"

namespace mpc::sched {

Hold::Hold(Execution& execution) noexcept : execution_(execution) {
  uint32_t expected = Execution::kParked;
  // Acquire pairs with publish_parked(): the reason that was written before it is visible.
  held_ = execution.state_.compare_exchange_strong(
      expected, Execution::kHeld, std::memory_order_acquire, std::memory_order_relaxed);
}

Hold::~Hold() {
  if (!held_) return;
  uint32_t seen = Execution::kHeld;
  if (execution_.state_.compare_exchange_strong(seen, Execution::kParked,
                                                std::memory_order_release,
                                                std::memory_order_relaxed))
    return;
  // kHeldPermit: an unpark() came meanwhile and left the wake-up
  // to us. Only this thread leaves kHeld*.
  execution_.state_.exchange(Execution::kActive, std::memory_order_acq_rel);
  execution_.make_ready();
}

}  // namespace mpc::sched
