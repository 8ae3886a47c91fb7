#pragma once
// Death: a rank ends before it should, and takes its process along.
//
// Role:      if the job goes on without that process (mpcrun --on-fail notify) only the process ends; else
//            the job does.
// Users:     runtime/interpose.
// Threads:   an execution of the rank.
// See also:  docs/design/0040-losses.md; Job::abort(), which always ends the job.

#include <string>

namespace mpc::job {

struct Rank;

// Does not return. The message ends with "; the job is ended", which the launcher removes if that is not so.
[[noreturn]] void die(const Rank& rank, int exit_code, const std::string& message);

}  // namespace mpc::job
