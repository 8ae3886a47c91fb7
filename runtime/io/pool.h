#pragma once
// Pool: threads of the runtime's own that do what non-blocking file operations have begun.
//
// Role:      runs tasks in the order of their coming, some at once; its threads start with the first
//            task, sleep when there is none, and run wherever the process may.
// Users:     mpi/io.
// Threads:   any.
// See also:  base/service_thread.h; runtime/io/ring_transfers.h (what the kernel does instead).

#include <functional>

namespace mpc::io {

// `task` may wait for the disk, not for other tasks or ranks. While it is in the queue or runs, ranks
// that wait are not deadlocked. If no thread can be started the caller does it itself.
// Switches: no, but for that.
void run_soon(std::function<void()> task);
int pool_threads() noexcept;  // so many tasks at most run at once

}  // namespace mpc::io
