#pragma once
// Merge: the traces of the processes of a job as one file.
//
// Role:      the last step of `mpcrun -p N --trace FILE`: their tracks, numbers and times fit together
//            already, so events are only put behind each other.
// Users:     runtime/job (node_job_records.cpp).
// Threads:   one, when all parts are written.
// See also:  runtime/trace/json.cpp (who writes the parts), docs/tracing.md.

#include <string>
#include <vector>

namespace mpc::trace {

// Removes the parts when the file is whole. Returns what went wrong, or "": then they are kept.
std::string merge(const std::vector<std::string>& parts, const std::string& path);

}  // namespace mpc::trace
