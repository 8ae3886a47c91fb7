#pragma once
// SeveralJobs: communicators whose members were started by several mpcruns.
//
// Role:      opens processes that other jobs will be told of.
// Users:     the code that creates communicators.
// Threads:   any execution of the owner.
// See also:  mpi/objects/job_uses.h, docs/design/0039-jobs-that-connect.md.

#include <string>

#include "mpi/objects/comm.h"

namespace mpc::mpi {

// The result of opening this process to other jobs, which happens once; mpi/spawn says how.
// `place`: where (wireup::Place); empty: as the settings say.
struct Opened {
  std::string place;    // where it is open
  std::string problem;  // why it is not open, or not there; empty: it is
};
using OpenProcess = Opened (*)(job::Job& job, const std::string& place);
void set_open_process(OpenProcess open) noexcept;
Opened open_process(job::Job& job, const std::string& place);

// A number for the caller's job, below that of the members of both groups and different for each job.
// Caller: Comm::spans_jobs().
int job_among(const Comm& comm) noexcept;

}  // namespace mpc::mpi
