#pragma once
// Options of mpcrun: the command line becomes a JobSpec, and a plan of hosts.
//
// Role:      parses, checks, explains. The only file that includes CLI11 is options.cpp.
// Users:     tools/mpcrun/main.cpp.
// Threads:   none.
// See also:  docs/mpcrun.md.

#include <string>
#include <variant>
#include <vector>

#include "runtime/job/launch.h"
#include "tools/mpclaunch/plan.h"

namespace mpc::tools {

struct Finished {
  int exit_status;
  std::string out, err;  // what to print
};

struct Command {
  job::JobSpec spec;
  launch::Plan plan;                  // empty in a process of the job
  std::string agent;                  // --agent
  std::vector<std::string> exports;   // names of -x without a value
  std::vector<std::string> warnings;  // each the rest of a line that begins "mpcrun: "
  bool has_no_input = false;          // --no-stdin
  bool is_hosted = false;  // each rank is a process of its own: tools/mpcrun/hosted.h
  bool goes_on = false;    // ... if one of them dies: --on-fail notify
};

std::variant<Command, Finished> parse_options(int argc, char** argv);

// The agent of an mpcrun that has none of its own: that of the job in which it is started.
inline constexpr char kAgentVariable[] = "MPC_AGENT";

}  // namespace mpc::tools
