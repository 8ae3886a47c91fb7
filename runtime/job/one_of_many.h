#pragma once
// One of many: a program compiled by mpcc that a launcher starts several times, without mpcrun.
//
// Role:      under a launcher with PMIx the process becomes mpcrun before main, with one rank per
//            process. Under another launcher it is refused, because it would be a job of its own.
//            In a script that mpcrun has started it reports which command that was.
// Users:     runtime/job/singleton.cpp, mpi/spawn/child_job.cpp; tools/mpcrun/scripts.cpp has the name of the variable.
// Threads:   any.
// See also:  runtime/wireup/starter.h; docs/cluster.md.

#include <string>
#include <vector>

namespace mpc::job {

// The file where a program of mpcc's should write who and where it is, instead of running: process,
// folder, program, number of arguments, these, then the environment, each followed by a 0.
inline constexpr char kScriptVariable[] = "MPC_SCRIPT_ANSWER";

// Where mpcrun of the same installation may be, or of the build folder.
std::vector<std::string> places_of_mpcrun();

// Ends the process, with advice what to type instead, if it has been started several times.
void refuse_to_be_one_of_many();

}  // namespace mpc::job
