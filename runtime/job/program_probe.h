#pragma once
// Program probe: could this program run as private copies?
//
// Role:      what mpcrun --ranks-per-process auto asks.
// Users:     tools/mpcrun/hosted.cpp, mpi/spawn/child_job.cpp.
// Threads:   any, before ranks start.
// See also:  runtime/loader/program_check.h.

#include "base/result.h"
#include "runtime/job/job_spec.h"

// By its own file only, or by the library that ranks have copies of in place of an interpreter: what its
// libraries are is seen when it is loaded. A program that is not there is
// one that could: who starts it says what is wrong. Exported by libmpi_abi for mpcrun.
extern "C" __attribute__((visibility("default"))) bool mpc_can_be_copied(
    const mpc::job::AppSpec& app);

namespace mpc::job {

// The same, with the reason. Errors: kNotFound, those of the loader.
Result<> check_can_be_copied(const AppSpec& app);

}  // namespace mpc::job
