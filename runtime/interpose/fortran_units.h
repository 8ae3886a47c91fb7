#pragma once
// Fortran units: what a job's end does about the buffers of libgfortran.
//
// Role:      each rank has a libgfortran of its own, which keeps up to 8 KiB per unit if the
//            output is a file, and would write them when a process exits. A job that ends early
//            does not get to that.
// Users:     runtime/interpose/streams.cpp.
// Threads:   the one that ends the job.
// See also:  docs/mpcrun.md (the end of a job).

#include "runtime/job/job.h"

namespace mpc::interpose {

// Writes what the units of all ranks hold. A unit may be in use, by a rank that waits for input
// or that crashed: such a rank is given up after a moment.
void flush_fortran_units(job::Job& job);

}  // namespace mpc::interpose
