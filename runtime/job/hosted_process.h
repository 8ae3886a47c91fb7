#pragma once
// Hosted process: facts about a process that is, or may become, a hosted rank.
//
// Role:      distinguishes such a process from others, and threads
//            of the runtime from those of its program.
// Users:     runtime/job, runtime/interpose, mpi/objects/session.cpp.
// Threads:   any.
// See also:  runtime/job/hosted_job.h.

#include "runtime/job/rank.h"

namespace mpc::job {

// Reads the environment that the process was started with. Caller: any, also constructors.
bool is_hosted_process() noexcept;
// MPI_Finalize returns: from now on no other process needs a hosted rank. Caller: the rank.
void note_finalized(Rank& rank) noexcept;
// The calling thread, one of the runtime's, acts for no rank, although the process is one.
void be_nobodys_thread() noexcept;
bool is_nobodys_thread() noexcept;

}  // namespace mpc::job
