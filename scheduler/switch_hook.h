#pragma once
// Switch hook: restores a rank's state that the kernel stores per kernel thread.
//
// Role:      called before a kernel thread runs a user-level thread, once a rank needs it.
// Users:     runtime/interpose (working directory, umask); scheduler/carrier.cpp calls it.
// Threads:   see each function.

#include <atomic>
#include <cstdint>

namespace mpc::sched {

// `identity`: of the user-level thread that runs next; `state`: of this kernel thread, ~0 at first.
// Called inside the runtime, on another thread's stack: only system calls, no errno.
using SwitchHook = void (*)(void* identity, uint64_t& state);

namespace detail {
extern std::atomic<SwitchHook> g_switch_hook;
extern std::atomic<bool> g_directories_are_shared;
}  // namespace detail

// Relaxed: the thread that sets the hook has not yet changed the state that the hook restores.
inline SwitchHook switch_hook() noexcept {
  return detail::g_switch_hook.load(std::memory_order_relaxed);
}
// Caller: any.
inline void set_switch_hook(SwitchHook hook) noexcept {
  detail::g_switch_hook.store(hook, std::memory_order_relaxed);
}

// Does each kernel thread that runs user-level threads have its own working directory and umask?
// False where unshare(2) is forbidden. Caller: any.
inline bool kernel_threads_have_directories() noexcept {
  return !detail::g_directories_are_shared.load(std::memory_order_relaxed);
}
// Gives the calling kernel thread its own working directory and umask. Caller: a kernel thread.
void take_own_directory() noexcept;

// The state of the kernel thread that runs the caller, known to carrier.cpp.
// Caller: a user-level thread.
uint64_t& switch_hook_state() noexcept;

}  // namespace mpc::sched
