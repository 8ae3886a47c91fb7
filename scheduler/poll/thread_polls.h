#pragma once
// ThreadPolls: kernel threads that poll the network themselves while they wait.
//
// Role:      in a process that is one rank, the main thread is none of the
//            scheduler's. It polls while it waits, as a rank on a worker does;
//            the workers, which have no ranks, then do not poll.
// Users:     runtime/job/hosted_job.cpp; SpinBudget.
// Threads:   let_kernel_threads_poll() before sources are added; the rest any.
// See also:  scheduler/poll/poller.h, docs/design/0032-hosted-ranks.md.

#include "scheduler/scheduler.h"

namespace mpc::sched {

// Ownership: the scheduler lives as long as threads may wait; only one scheduler may be set.
void let_kernel_threads_poll(Scheduler& scheduler) noexcept;
// The poller for threads that are no workers; null: they do not poll.
Poller* poller_of_threads() noexcept;

}  // namespace mpc::sched
