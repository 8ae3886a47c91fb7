#pragma once
// ThreadPolls: kernel threads that poll the network themselves while they wait.
//
// Role:      in a process that is one rank its main thread is none of the scheduler's. It looks for what it
//            waits for as a rank on a worker does; the workers, which have no ranks, then do not.
// Users:     runtime/job/hosted_job.cpp; SpinBudget.
// Threads:   let_kernel_threads_poll() before sources are added; the rest any.
// See also:  scheduler/poll/poller.h, docs/design/0032-hosted-ranks.md.

#include "scheduler/scheduler.h"

namespace mpc::sched {

// Ownership: the scheduler lives as long as threads may wait; there is one such scheduler.
void let_kernel_threads_poll(Scheduler& scheduler) noexcept;
// For threads that are no workers; null: they do not poll.
Poller* poller_of_threads() noexcept;

}  // namespace mpc::sched
