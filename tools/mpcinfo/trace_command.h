#pragma once
// mpcinfo trace: lists the collectives of a traced job; draws one of them, or all of it as a page.
//
// Role:      for users, after `mpcrun --trace FILE`.
// Users:     tools/mpcinfo/command_line.cpp.
// Threads:   one.
// See also:  docs/tracing.md, tools/mpcinfo/trace_svg.h.

#include <string>

namespace mpc::tools {

struct TraceOptions {
  std::string file;
  int collective = -1;  // number in the list; -1: the longest one
  std::string svg;      // path, "": the list
  std::string html;     // path of the page, "": none
  std::string profile;  // of the same job, for the page
};

// Prints to stdout or writes the picture. Returns: exit status, 2 for bad input.
int trace_command(const TraceOptions& options);

}  // namespace mpc::tools
