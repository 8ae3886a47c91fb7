#pragma once
// Registry: makes a job the job of this process.
//
// Role:      what Job::instance() returns from then on; without one, a singleton's.
// Users:     runtime/job (launch), and who brings a Job of its own.
// Threads:   before any rank starts; null again when the ranks have ended.

#include "runtime/job/job.h"

namespace mpc::job {

void set_current_job(Job* job) noexcept;

// This process is, or may become, a hosted rank (runtime/job/hosted_job.h): said by the environment that it
// was started with. Caller: any, constructors too.
bool is_hosted_process() noexcept;
// MPI_Finalize returns: from now on nobody misses a hosted rank. Caller: the rank.
void note_finalized(Rank& rank) noexcept;
// The calling thread, one of the runtime's, acts for no rank, though the process is one.
void be_nobodys_thread() noexcept;

}  // namespace mpc::job
