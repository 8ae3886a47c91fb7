#pragma once
// Fortran units: writes the buffers of libgfortran at the end of a job.
//
// Role:      each rank has a libgfortran of its own, which buffers up to 8 KiB per unit if the
//            output is a file, and would write them when a process exits. A job that ends early
//            does not get that far.
// Users:     runtime/interpose/streams.cpp.
// Threads:   the one that ends the job.
// See also:  docs/mpcrun.md (the end of a job).

#include "runtime/job/job.h"

namespace mpc::interpose {

// Writes the buffers of all ranks' units. A unit may be in use, by a rank that waits for input
// or that crashed: such a rank is abandoned after a moment.
void flush_fortran_units(job::Job& job);

}  // namespace mpc::interpose
