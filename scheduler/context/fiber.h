#pragma once
// Fiber: a suspended point of execution, and the switch between two of them.
//
// Role:      wraps Boost.Context's fcontext and the FS base register. A switch exchanges the
//            stack, the callee-saved registers, the floating-point control words and the
//            thread control block, thus errno, every thread_local, pthread_self.
// Users:     scheduler only.
// Threads:   a Fiber is resumed by one kernel thread at a time.
// See also:  docs/design/0001-context-switch.md.

#include <cstddef>
#include <cstdint>

namespace mpc::sched::context {

struct Fiber {
  void* sp = nullptr;  // fcontext_t while suspended
  uintptr_t fs = 0;    // FS base: the thread control block this fiber runs on
  void (*entry)(void* message) = nullptr;
};

// FS base of the caller.
uintptr_t current_fs() noexcept;

// Prepares a fiber that will call entry(message) on the stack that ends at `top`.
// entry never returns. Ownership: the caller keeps the stack.
void prepare(Fiber& fiber, void* top, size_t size, uintptr_t fs,
             void (*entry)(void* message)) noexcept;

// Suspends the caller in `from` and continues with `to`, which receives `message`. Returns the
// message of the thread that resumes `from`. Other threads may use `from.sp` once the resumed side
// has begun to run, so it is the resumed side that may publish `from`.
// Switches: yes. Cost: about 9 ns.
void* switch_to(Fiber& from, Fiber& to, void* message) noexcept;

}  // namespace mpc::sched::context
