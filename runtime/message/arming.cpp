#include "runtime/message/arming.h"

#include "scheduler/execution.h"

namespace mpc::msg {

void settle(Mailbox& mine, const Operation& op) noexcept {
  constexpr int kTurns = 50;
  for (int i = 0; i < kTurns; ++i) {
    // Acquire pairs with complete().
    if (op.state.load(std::memory_order_acquire) == kComplete) return;
    mine.shared_copy.help();
    __builtin_ia32_pause();
  }
  sched::SpinBudget spin;
  while (op.state.load(std::memory_order_acquire) != kComplete) {
    if (mine.shared_copy.help() || spin.once()) continue;
    sched::Execution::self().yield();
    spin = sched::SpinBudget();
  }
}

}  // namespace mpc::msg
