#include "runtime/rma/accumulate_gate.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "base/futex.h"
#include "base/thread_safety.h"

namespace mpc::rma {

namespace {

bool order_all_threads() noexcept {
  const auto order = [] {
    return raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
  };
  return order() ||
         (raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
          order());
}

}  // namespace

AccumulateGate::AccumulateGate(int members)
    : count_(members), members_(new Member[static_cast<size_t>(members)]) {}

bool AccumulateGate::close() noexcept {
  // Acquire pairs with the end of this function: nobody changes elements without the lock any more.
  const State before = state_.load(std::memory_order_acquire);
  if (before != State::kOpen && before != State::kClosing)
    return before == State::kClosed;
  const Locked one_at_a_time(closing_);
  if (state_.load(std::memory_order_relaxed) != State::kOpen) return is_closed();
  state_.store(State::kClosing, std::memory_order_seq_cst);
  // Each thread of the process has a full barrier at some point within this call. One that went inside before that
  // point is seen below; one that does later sees kClosing. Not permitted: as before.
  if (!order_all_threads()) {
    keep_open();
    return false;
  }
  for (int m = 0; m < count_; ++m) {
    const Member& member = members_[static_cast<size_t>(m)];
    PauseThenYield wait;
    // Acquire pairs with pass(): what was changed inside.
    while (member.inside.load(std::memory_order_acquire) != 0 ||
           member.others_inside.load(std::memory_order_acquire) != 0)
      wait.once();
  }
  state_.store(State::kClosed, std::memory_order_release);
  return true;
}

}  // namespace mpc::rma
