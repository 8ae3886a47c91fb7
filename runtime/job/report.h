#pragma once
// Report: what every rank is doing, one line per group of ranks in the same state.
//
// Role:      the deadlock report and the table of Ctrl-\.
// Users:     runtime/job.
// Threads:   a kernel thread of ours.
// See also:  scheduler/execution.h (WaitReason).

#include <string>
#include <vector>

#include "runtime/job/job.h"

namespace mpc::job {

// "0-3,7" for sorted rank numbers; long lists are shortened with their number.
std::string format_ranks(const std::vector<int>& ranks);

// One line per group: "ranks 0-3: MPI_Recv(...), for 3.2 s".
std::string state_table(Job& job);

std::string deadlock_report(Job& job);

}  // namespace mpc::job
