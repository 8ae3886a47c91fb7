#pragma once
// KernelThread: the Execution of a kernel thread that is not one of ours, and their registry.
//
// Role:      gives a singleton's main thread and the pthreads of a rank what an Ult has: an
//            identity, a permit, a place in reports. Created at the first Execution::self(),
//            destroyed with the thread.
// Users:     scheduler only.
// Threads:   the registry is locked; each object belongs to its thread.
// See also:  scheduler/execution.h.

#include <functional>

#include "scheduler/execution.h"

namespace mpc::sched {

class KernelThread final : public Execution {
 public:
  KernelThread() = default;
  ~KernelThread() = default;
  KernelThread* next = nullptr;  // in the registry, guarded by its lock
  KernelThread* previous = nullptr;
};

// Calls `visit` for every attached kernel thread while it holds the registry's lock: none of them
// begins or ends meanwhile. `visit` must not attach a thread or park.
void for_each_kernel_thread(const std::function<void(KernelThread&)>& visit);

// Has a kernel thread been announced (expect_kernel_thread()) that is not there yet? If not,
// for_each_kernel_thread() visits all of them from now on.
bool is_kernel_thread_expected() noexcept;

}  // namespace mpc::sched
