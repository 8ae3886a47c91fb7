#pragma once
// The picture of one collective: what each core did for it, and what the ranks did meanwhile.
//
// Role:      an SVG that needs no other file; one row per core, one per rank.
// Users:     tools/mpcinfo/trace_command.cpp.
// Threads:   one.
// See also:  docs/tracing.md shows one.

#include <string>

#include "tools/mpcinfo/trace_read.h"

namespace mpc::tools {

// The content of the list, and of the title.
struct Summary {
  Interval window;  // from the first start to the end of the last wait for it
  double communication_us = 0;  // work for it on communication cores
  double application_us = 0;    // work for it on cores that have ranks
  double in_calls_us = 0;  // the longest time that a rank spent in MPI calls meanwhile
  double computed_us = 0;  // the longest time that a rank computed meanwhile
  int64_t bytes = 0;       // largest message
};
Summary summarize(const TraceData& data, const CollectiveTrace& collective);

std::string collective_svg(const TraceData& data, size_t number);

std::string bytes_text(int64_t bytes);  // "64 KiB"

}  // namespace mpc::tools
