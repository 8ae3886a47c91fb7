#pragma once
// Page: a trace, a profile or both as one HTML file, which needs nothing else.
//
// Role:      puts the data, as compact JSON, into the page that was made of tools/mpcinfo/page/.
// Users:     tools/mpcinfo/trace_command.cpp, tools/mpcinfo/profile_command.cpp.
// Threads:   one.
// See also:  docs/tracing.md (what it shows), tools/mpcinfo/page/logic.js (who reads the data).

#include <string>

#include "tools/mpcinfo/trace_json.h"
#include "tools/mpcinfo/trace_read.h"

namespace mpc::tools {

// What the page shows of a trace. Numbers of one kind stand in one array: times in nanoseconds, each
// begin as what has passed since the one before, then the duration.
Json page_data(const TraceData& data);

// A title, and what the parts of the page show; null: that part is left out.
std::string page_html(const std::string& title, const Json& trace, const Json& profile);

// Writes a text to a file; the message of what went wrong, or "".
std::string write_file(const std::string& path, const std::string& text);

}  // namespace mpc::tools
