#pragma once
// Scripts: a shell script that ends in a program of ours, as ranks of that program.
//
// Role:      starts the script once for each rank, as a process of its own that has the rank's
//            number in its environment, in the variables of other launchers. The program that the
//            script becomes by exec reports its arguments and environment, and ends. The ranks
//            then are that program, each with the environment that its script has made.
// Users:     tools/mpcrun/main.cpp.
// Threads:   before the job.
// See also:  runtime/job/one_of_many.h has the program's part; docs/mpcrun.md, section "Scripts and
//            other programs".

#include "base/result.h"
#include "runtime/job/job_spec.h"

namespace mpc::tools {

// Replaces scripts among the programs; does nothing where there is none.
// Errors: kImage: a script that does not end in a program, or not in the same command for all
// ranks.
Result<> ask_scripts(job::JobSpec& spec);

}  // namespace mpc::tools
