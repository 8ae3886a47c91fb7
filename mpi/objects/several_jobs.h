#pragma once
// SeveralJobs: communicators whose members were started by several mpcruns.
//
// Role:      such a communicator counts on the other jobs as long as it lives; what is not built for it
//            is refused.
// Users:     mpi/objects/comm.cpp, and what makes windows, files and communicators.
// Threads:   any execution of the owner.
// See also:  runtime/message/abroad.h, docs/design/0039-jobs-that-connect.md.

#include <span>

#include "mpi/objects/comm.h"

namespace mpc::mpi {

bool spans_jobs(const Comm& comm) noexcept;

// Errors: MPI_ERR_UNSUPPORTED_OPERATION: its members are of several jobs, and `what` is not built for them.
Err refuse_several_jobs(const Comm& comm, const char* what);

// None of these jobs (slots; the own one may be among them) may end without a word while the communicator
// lives. Caller: its constructor, its destructor.
void count_on_jobs(const Comm& comm, std::span<const int> slots);
void forget_jobs(const Comm& comm) noexcept;

}  // namespace mpc::mpi
