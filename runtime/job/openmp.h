#pragma once
// OpenMP: what the job does for programs that use it.
//
// Role:      finds out from libraries and environment whether ranks will start a team of threads,
//            so that their cores are available from the beginning: OpenMP's runtimes read the
//            affinity once, some by system calls of their own.
// Users:     runtime/job, runtime/interpose.
// Threads:   pure.
// See also:  docs/scheduler.md section "Threads of ranks".

#include <string>
#include <vector>

#include "runtime/loader/image.h"

namespace mpc::job {

// Is the program linked with an OpenMP runtime?
bool has_openmp(const loader::Image& image);
// The same, and not told to use one thread (OMP_NUM_THREADS)?
bool has_openmp_threads(const loader::Image& image,
                        const std::vector<std::string>& environment);

// The processing units of a rank: the number that it sees, and
// the number that it has if all ranks use theirs.
struct UnitCounts {
  int seen = 0;
  double own = 0;
};
// Adds OMP_WAIT_POLICY=passive (GNU's runtime) if a rank's threads outnumber its processing units: a
// thread that waits actively there prevents the thread that it waits
// for from running. Not if the user has set this variable.
void let_openmp_wait(const loader::Image& image, std::vector<std::string>& environment,
                     UnitCounts units);

// LLVM's OpenMP ends a process that loads it twice. Here each copy belongs to its own program,
// which is what LLVM wants to make sure of.
void allow_many_openmp(const loader::Image& image,
                       std::vector<std::string>& environment);

}  // namespace mpc::job
