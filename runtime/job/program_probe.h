#pragma once
// Program probe: could this program run as private copies?
//
// Role:      mpcrun --ranks-per-process auto asks this; and whether it could be a rank at all.
// Users:     tools/mpcrun/hosted.cpp, mpi/spawn/child_job.cpp.
// Threads:   any, before ranks start.
// See also:  runtime/loader/program_check.h.

#include <string>

#include "base/result.h"
#include "runtime/job/job_spec.h"

// Checks only its own file, or the library that ranks have copies of in place of an interpreter:
// its libraries are checked when it is loaded. For a program that does not exist the answer is yes:
// the code that starts it reports the error. Exported by libmpi_abi for mpcrun.
extern "C" __attribute__((visibility("default"))) bool mpc_can_be_copied(
    const mpc::job::AppSpec& app);

// Could it be a rank as a process of its own? False: its file is linked with another MPI, so that it
// would run alone each time; the reason is appended to `why`. What is no file of a program, a
// script, say, is not judged.
extern "C" __attribute__((visibility("default"))) bool mpc_can_be_process(
    const mpc::job::AppSpec& app, std::string& why);

// Has it thread_locals of which a process can hold those of one program only (runtime/loader/fixed_thread_locals.h)?
extern "C" __attribute__((visibility("default"))) bool mpc_has_fixed_place(
    const mpc::job::AppSpec& app);

namespace mpc::job {

// The first one, with the reason. Errors: kNotFound, those of the loader.
Result<> check_can_be_copied(const AppSpec& app);

}  // namespace mpc::job
