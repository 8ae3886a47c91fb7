#pragma once
// Launch: runs one job, from the description that mpcrun made of its command line.
//
// Role:      JobSpec -> images, scheduler, ranks, exit status.
// Users:     tools/mpcrun, tests.
// Threads:   mpc_run_job() by the process's main thread, once.
// See also:  docs/mpcrun.md (options and exit statuses).

#include "runtime/job/exit_status.h"
#include "runtime/job/job_spec.h"

// The whole job; returns the exit status. Exported by libmpi_abi for mpcrun.
extern "C" __attribute__((visibility("default"))) int mpc_run_job(
    const mpc::job::JobSpec& spec);
