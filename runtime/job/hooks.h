#pragma once
// Hooks: functions of upper layers that are called at the start and the end of ranks.
//
// Role:      the upcalls of runtime/job, in fixed tables: no allocation, one order (hook_order.h).
// Users:     runtime/job only; others register through Job::at_rank_start and friends.
// Threads:   registration before main(); reading afterwards.

#include "runtime/job/job.h"

namespace mpc::job::hooks {

Result<> run_wireup(Job& job);
Result<> run_job_start(Job& job);
void run_rank_start(Rank& rank);
void run_rank_end(Rank& rank);
void run_rank_failure(Rank& rank);
void run_job_over(Job& job);
void run_job_end(Job& job);

}  // namespace mpc::job::hooks
