#pragma once
// Spawned: mpcrun starts a job that MPI_Comm_spawn asks for in a program without mpcrun.
//
// Role:      reads such a command line, and runs the job as one process of this host, whatever launcher or
//            allocation the program itself is in.
// Users:     tools/mpcrun/main.cpp.
// Threads:   none.
// See also:  runtime/job/spawned_words.h.

#include <variant>

#include "tools/mpcrun/options.h"

namespace mpc::tools {

// parse_options(), or its counterpart for such a job.
std::variant<Command, Finished> read_command(int argc, char** argv);

}  // namespace mpc::tools
