#pragma once
// Singleton: the job of a program that was started without mpcrun.
//
// Role:      MPI_Init without a launcher (MPI-4.1 section 11.8.1): one rank.
// Users:     Job::instance().
// Threads:   any; the first caller's kernel thread becomes the rank's main thread.

#include "runtime/job/job.h"

namespace mpc::job {

// The caller's kernel thread becomes the rank's main thread. Hooks have not run yet.
// Ownership: lives until the process ends: exit handlers of the program may still call MPI.
Job* create_singleton();

}  // namespace mpc::job
