#pragma once
// Program files: which file and which environment a user's command line means.
//
// Role:      follows the rules of a shell and execvp(3).
// Users:     runtime/job/node_job.cpp; runtime/job/interpreter.cpp.
// Threads:   before ranks start.
// See also:  docs/mpcrun.md.

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/job/job_spec.h"

namespace mpc::job {

// Searches along PATH, as execvp(3) does; then in this folder. Errors: kNotFound.
Result<std::string> find_program(const std::string& name);
// Without links, as /proc/PID/exe shows it.
std::string absolute(const std::string& path);
// mpcrun's own environment with the changes of -x.
std::vector<std::string> merged_environment(const AppSpec& app);
// `environment` with the changes of a rank's own_environment.
std::vector<std::string> changed_environment(std::vector<std::string> environment,
                                             const std::vector<std::string>& changes);
// The libraries of -x LD_PRELOAD, to which mpcrun adds those of its own variable. The dynamic
// linker never sees it: the loader loads the libraries, a copy per rank, or says why it cannot.
std::vector<std::string> preloads(const AppSpec& app);

}  // namespace mpc::job
