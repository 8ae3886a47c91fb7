#pragma once
// SeveralJobs: communicators whose members were started by several mpcruns.
//
// Role:      tells them from others; what is not built for them is refused.
// Users:     what makes windows, files and communicators.
// Threads:   any execution of the owner.
// See also:  mpi/objects/job_uses.h, docs/design/0039-jobs-that-connect.md.

#include "mpi/objects/comm.h"

namespace mpc::mpi {

bool spans_jobs(const Comm& comm) noexcept;

// Errors: MPI_ERR_UNSUPPORTED_OPERATION: its members are of several jobs, and `what` is not built for them.
Err refuse_several_jobs(const Comm& comm, const char* what);

}  // namespace mpc::mpi
