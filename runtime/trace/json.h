#pragma once
// JSON: the recorded events in the trace event format of Chrome, which Perfetto reads, too.
//
// Role:      orders the events in time and turns them into tracks: one per core, one per rank
//            and one per rank's progress thread.
// Users:     runtime/trace/trace_file.cpp.
// Threads:   one, after trace::stop().
// See also:  docs/tracing.md; "Trace Event Format" (Google, 2016) for the letters.

#include "runtime/trace/job_outline.h"

namespace mpc::trace {

// The process numbers under which viewers group the tracks.
inline constexpr int kCores = 1, kRanks = 2;
// A job of several processes has both for each process.
inline constexpr int kPidsPerProcess = 2;

// Returns 0 or an errno. Uses no malloc.
int write_json(int descriptor, const Job& job) noexcept;

}  // namespace mpc::trace
