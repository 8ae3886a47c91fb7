#pragma once
// TraceFile: the recorded events as a timeline for Perfetto or Chrome.
//
// Role:      `mpcrun --trace FILE`: the file is created before the job starts and written when it
//            ends, however it ends.
// Users:     runtime/job.
// Threads:   open() before the job; write() once, by the thread that ends the job.
// See also:  docs/tracing.md (what is in the file), base/trace.h (who records).

#include <string>

#include "base/result.h"
#include "runtime/trace/job_outline.h"

namespace mpc::trace {

class TraceFile {
 public:
  // Creates the file and begins to record. Errors: kArg with the reason.
  static Result<> open(const std::string& path, const Job& job);
  // Stops recording, writes. Reports on stderr what went wrong or was lost. Uses no malloc.
  // False: the file is cut, now or when it was written before. True also if there is no trace.
  static bool write() noexcept;
};

}  // namespace mpc::trace
