#pragma once
// Sleeper: the execution that waits at one flag in shared memory until another one sets it.
//
// Role:      the two sides of a wait_for() that needs no message: the waiter arms itself; the
//            member that sets the flag reads it here and unparks it.
// Users:     nbc/direct, runtime/rma.
// Threads:   arm() and disarm() one execution at a time; wake() any. The object must exist until
//            no thread can be in wake() any more.
// See also:  msg::wait_for() in runtime/message/message.h; docs/design/0007-direct-collectives.md,
//            "Why it is right", 5 and 6.

#include <atomic>
#include <cstdint>

#include "scheduler/execution.h"

namespace mpc::msg {

// The execution that waits at one flag. See wake().
class Sleeper {
 public:
  void arm(sched::Execution& waiter) noexcept;
  void disarm() noexcept;
  // Caller: after a seq_cst store to the flag.
  void wake() noexcept {
    if (who_.load(std::memory_order_seq_cst) != 0) wake_armed();  // partner: arm()
  }

 private:
  void wake_armed() noexcept;
  // The execution's address; its lowest bit: a kernel thread, which may exit after its wait.
  // kWaking: a thread is about to unpark that kernel thread.
  static constexpr uintptr_t kKernelThread = 1, kWaking = 2;
  std::atomic<uintptr_t> who_{0};
};

}  // namespace mpc::msg
