#pragma once
// mpcinfo trace: the collectives of a traced job, as a list or as a picture of one of them.
//
// Role:      what a user asks after `mpcrun --trace FILE`.
// Users:     tools/mpcinfo/command_line.cpp.
// Threads:   one.
// See also:  docs/tracing.md, tools/mpcinfo/trace_svg.h.

#include <string>

namespace mpc::tools {

struct TraceOptions {
  std::string file;
  int collective = -1;  // of the list; -1: the longest
  std::string svg;      // path, "": the list
};

// Prints to stdout or writes the picture. Returns: exit status, 2 for bad input.
int trace_command(const TraceOptions& options);

}  // namespace mpc::tools
