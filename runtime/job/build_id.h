#pragma once
// Build id: which build of a program or library a file is.
//
// Role:      lets the processes of a job notice that hosts have different builds of the same thing.
// Users:     runtime/job (node_job_processes, hosted_job).
// Threads:   any.
// See also:  runtime/job/card.h; ld(1): --build-id.

#include <cstdint>
#include <string>

namespace mpc::job {

// A hash of the linker's mark; 0: the file has none, or cannot be read.
uint64_t build_of(const std::string& path);
// The same for the library that this code is in.
uint64_t build_of_this_library();

}  // namespace mpc::job
