#pragma once
// Hosted output: what a hosted rank prints by C's stdio leaves the process line by line.
//
// Role:      its standard output is the shim's pipe, which stdio would fill with 4 KiB before it writes: lines would be
//            late, and lost by abort() and _exit().
// Users:     runtime/job/hosted_job.cpp.
// Threads:   that of MPI_Init.
// See also:  docs/design/0032-hosted-ranks.md ("Output").

namespace mpc::job {

// Changes stdout if it is a pipe, and the program has not chosen otherwise (setvbuf).
void write_lines_at_once() noexcept;

}  // namespace mpc::job
