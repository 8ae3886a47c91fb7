#pragma once
// JobNumber: a number that no other job has.
//
// Role:      names the job in what jobs tell each other; all its processes know the same one.
// Users:     runtime/message (network, abroad), mpi/spawn.
// Threads:   job_number(), new_number() any; the others the thread that starts the job.
// See also:  mpi/spawn/port_name.h.

#include <cstdint>

#include "base/result.h"
#include "runtime/wireup/wireup.h"

namespace mpc::job {

// Never 0.
uint64_t job_number() noexcept;
// One that no rank of the job gets twice, in whatever process: below 2^60.
uint64_t new_number() noexcept;

// Of a job of several processes: the first one says it, before the exchange; all hear it, after that.
Result<> put_job_number(wireup::Wireup& wireup);
Result<> get_job_number(wireup::Wireup& wireup);

}  // namespace mpc::job
