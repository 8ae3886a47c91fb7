#pragma once
// One of many: a program of mpcc's that a launcher starts several times, without mpcrun.
//
// Role:      under a launcher with PMIx the process becomes mpcrun before main, with one rank for
//            each process; under another one it is refused, where it would be a job of its own.
//            In a script that mpcrun has started it says which command that was.
// Users:     runtime/job/singleton.cpp, mpi/spawn/child_job.cpp; tools/mpcrun/scripts.cpp has the name of the variable.
// Threads:   any.
// See also:  runtime/wireup/starter.h; docs/cluster.md.

#include <string>
#include <vector>

namespace mpc::job {

// The file where a program of mpcc's shall say who and where it is, instead of running: process,
// folder, program, number of arguments, these, then the environment, each with a 0 behind it.
inline constexpr char kScriptVariable[] = "MPC_SCRIPT_ANSWER";

// Where mpcrun of the same installation may be, or of the build folder.
std::vector<std::string> places_of_mpcrun();

// Ends the process, with what to write instead, if it has been started several times.
void refuse_to_be_one_of_many();

}  // namespace mpc::job
