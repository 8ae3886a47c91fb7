#pragma once
// Options of mpcrun: the command line becomes a JobSpec.
//
// Role:      parses, checks, explains. The only file that includes CLI11 is options.cpp.
// Users:     tools/mpcrun/main.cpp.
// Threads:   none.
// See also:  docs/mpcrun.md.

#include <string>
#include <variant>

#include "runtime/job/launch.h"

namespace mpc::tools {

struct Finished {
  int exit_status;
  std::string out, err;  // what to print
};

std::variant<job::JobSpec, Finished> parse_options(int argc, char** argv);

}  // namespace mpc::tools
