#pragma once
// Page: a trace, a profile or both as one HTML file that needs no other file.
//
// Role:      inserts the data, as compact JSON, into the page from tools/mpcinfo/page/.
// Users:     tools/mpcinfo/trace_command.cpp, tools/mpcinfo/profile_command.cpp.
// Threads:   one.
// See also:  docs/tracing.md (what it shows), tools/mpcinfo/page/logic.js (which reads the data).

#include <string>

#include "tools/mpcinfo/trace_json.h"
#include "tools/mpcinfo/trace_read.h"

namespace mpc::tools {

// The data of a trace that the page shows. Numbers of one kind form one array. Times are in
// nanoseconds: each begin as the difference to the previous one, then the duration.
Json page_data(const TraceData& data);

// A page with a title and two parts; a part whose data are null is left out.
std::string page_html(const std::string& title, const Json& trace, const Json& profile);

// Writes a text to a file. Returns the error message, or "".
std::string write_file(const std::string& path, const std::string& text);

}  // namespace mpc::tools
