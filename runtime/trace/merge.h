#pragma once
// Merge: joins the traces of the processes of a job into one file.
//
// Role:      the last step of `mpcrun -p N --trace FILE`: their tracks, numbers and times fit together
//            already, so the events are only concatenated.
// Users:     runtime/job (node_job_records.cpp).
// Threads:   one, when all parts are written.
// See also:  runtime/trace/json.cpp (writes the parts), docs/tracing.md.

#include <string>
#include <vector>

namespace mpc::trace {

// Removes the parts when the file is complete. Returns what went wrong, or "": then they are kept.
std::string merge(const std::vector<std::string>& parts, const std::string& path);

}  // namespace mpc::trace
