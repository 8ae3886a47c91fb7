#pragma once
// The picture of one collective: which core did what for it, and what the ranks did meanwhile.
//
// Role:      an SVG without any dependency; one row per core, one per rank.
// Users:     tools/mpcinfo/trace_command.cpp.
// Threads:   one.
// See also:  docs/tracing.md shows one.

#include <string>

#include "tools/mpcinfo/trace_read.h"

namespace mpc::tools {

// What the list and the title say.
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
