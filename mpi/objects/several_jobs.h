#pragma once
// SeveralJobs: communicators whose members were started by several mpcruns.
//
// Role:      what is not built for them is refused; processes that other jobs are to be told of are opened to them.
// Users:     what makes windows, files and communicators.
// Threads:   any execution of the owner.
// See also:  mpi/objects/job_uses.h, docs/design/0039-jobs-that-connect.md.

#include <string>

#include "mpi/objects/comm.h"

namespace mpc::mpi {

// Opens this process to other jobs, if it is not yet; mpi/spawn says how. `folder`: where; empty: as the settings say.
struct Opened {
  std::string folder;   // where it is open
  std::string problem;  // why it is not, or not there; empty: it is
};
using OpenProcess = Opened (*)(job::Job& job, const std::string& folder);
void set_open_process(OpenProcess open) noexcept;
Opened open_process(job::Job& job, const std::string& folder);

// A number of the caller's job among those of the members, below their number. Caller: Comm::spans_jobs(), no
// intercommunicator.
int job_among(const Comm& comm) noexcept;

// Errors: MPI_ERR_UNSUPPORTED_OPERATION: its members are of several jobs, and `what` is not built for them.
Err refuse_several_jobs(const Comm& comm, const char* what);

}  // namespace mpc::mpi
