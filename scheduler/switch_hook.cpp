#include "scheduler/switch_hook.h"

#include <sched.h>

namespace mpc::sched {

namespace detail {
constinit std::atomic<SwitchHook> g_switch_hook{nullptr};
constinit std::atomic<bool> g_directories_are_shared{false};
}  // namespace detail

void take_own_directory() noexcept {
  if (::unshare(CLONE_FS) != 0)
    detail::g_directories_are_shared.store(true, std::memory_order_relaxed);
}

}  // namespace mpc::sched
