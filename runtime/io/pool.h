#pragma once
// Pool: threads of the runtime that carry out non-blocking file operations.
//
// Role:      starts tasks in their order, several at once. Its threads are created with the first
//            tasks, sleep when there is none, and run on all cores that the process may use.
// Users:     mpi/io.
// Threads:   any.
// See also:  base/service_thread.h; runtime/io/ring_transfers.h (accesses by the kernel instead).

#include <functional>

namespace mpc::io {

// `task` may wait for the disk, but not for other tasks or ranks. While it is queued or runs, ranks
// that wait are not deadlocked. If no thread can be started the caller runs it itself. Switches:
// only in that case.
void run_soon(std::function<void()> task);
int pool_threads() noexcept;  // how many tasks run at once, at most

}  // namespace mpc::io
