#pragma once
// Pool: threads of the runtime that carry out non-blocking file operations.
//
// Role:      starts tasks in their order, several at once, at once or after a grace. Its threads are created
//            with the first tasks, sleep when there is none, and run on all cores that the process may use.
// Users:     mpi/io.
// Threads:   any.
// See also:  base/service_thread.h; runtime/io/ring_transfers.h (accesses by the kernel instead).

#include <cstdint>
#include <functional>

#include "scheduler/scheduler.h"

namespace mpc::io {

// `task` may wait for the disk, but not for other tasks or ranks. While it is queued or runs, ranks
// that wait are not deadlocked. If no thread can be started the caller runs it itself. Switches:
// only in that case.
// `begin_ns`, of now_ns(): not before that time; 0: at once.
void run_soon(std::function<void()> task, uint64_t begin_ns = 0);
// When a thread should begin with what the caller may do itself, if it comes to wait: at once if a core of the
// process is idle, otherwise after the setting io.grace_us, because to wake the thread would only disturb. Null: a
// program without mpcrun. Caller: any. Cost: a load for each worker.
uint64_t time_to_begin(const sched::Scheduler* scheduler) noexcept;
// A task tells that it has done an access, or a part of one (counter io.thread_accesses).
void note_thread_access() noexcept;
int pool_threads() noexcept;  // how many tasks run at once, at most

}  // namespace mpc::io
