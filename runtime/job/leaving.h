#pragma once
// leave_network: how the processes of a job stop to use their network, together.
//
// Role:      no process ends while another may want something from it, and none looks at the network
//            while another may have ended.
// Users:     runtime/job (node_job_processes, hosted_job).
// Threads:   the process's main thread.
// See also:  runtime/wireup/wireup.h, scheduler/poll/poller.h; docs/cluster.md (how it ends).
//
// UCX 1.13 fails in an assertion ("got REP message") if it finds that a process has ended to which
// it still owes an answer to the opening of a connection. Rank 0 of 40 did that now and then, whose
// output took long: its last messages had opened connections that nothing else needed.
//
//   all ranks of all processes have ended -> nobody polls any more -> processes may end

#include "runtime/wireup/wireup.h"
#include "scheduler/scheduler.h"

namespace mpc::job {

// Waits for all processes of the job, unless it goes on without some of them: then connections are
// open since MPI_Init.
void leave_network(wireup::Wireup& wireup, sched::Scheduler& scheduler) noexcept;

}  // namespace mpc::job
