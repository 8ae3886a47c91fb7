#pragma once
// Hosted process: what is to be known of a process that is, or may become, a hosted rank.
//
// Role:      tells such a process from others, and threads of the runtime from those of its program.
// Users:     runtime/job, runtime/interpose, mpi/objects/session.cpp.
// Threads:   any.
// See also:  runtime/job/hosted_job.h.

#include "runtime/job/rank.h"

namespace mpc::job {

// Said by the environment that it was started with. Caller: any, constructors too.
bool is_hosted_process() noexcept;
// MPI_Finalize returns: from now on nobody misses a hosted rank. Caller: the rank.
void note_finalized(Rank& rank) noexcept;
// The calling thread, one of the runtime's, acts for no rank, though the process is one.
void be_nobodys_thread() noexcept;
bool is_nobodys_thread() noexcept;

}  // namespace mpc::job
