#pragma once
// Spawned: mpcrun starts a job that MPI_Comm_spawn asks for.
//
// Role:      reads such a command line, and runs the job where it says, by default as one process of this host,
//            whatever launcher or allocation the program itself is in.
// Users:     tools/mpcrun/main.cpp.
// Threads:   none.
// See also:  runtime/job/spawned_words.h, docs/design/0048-spawn-over-hosts.md.

#include <variant>

#include "runtime/job/spawned_words.h"
#include "tools/mpcrun/options.h"

namespace mpc::tools {

// parse_options(), or its counterpart for such a job.
std::variant<Command, Finished> read_command(int argc, char** argv);

// Each program on its hosts, one after the other. Errors: kArg.
Result<launch::Plan> plan_spawned(const job::SpawnedJob& job);

}  // namespace mpc::tools
