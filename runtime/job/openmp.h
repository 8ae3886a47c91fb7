#pragma once
// OpenMP: what the job does for programs that use it.
//
// Role:      tells from libraries and environment whether ranks will start a team of threads, so
//            that their cores are there from the beginning: OpenMP's runtimes look at the affinity
//            once, some by system calls of their own.
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

// The processing units of a rank: those that it sees, and how many of them it has if all ranks use
// theirs.
struct UnitCounts {
  int seen = 0;
  double own = 0;
};
// Adds OMP_WAIT_POLICY=passive (GNU's runtime) if a rank's threads outnumber its processing units: a
// thread that waits actively there keeps the one from running that it waits for. Not if the user
// said anything about it.
void let_openmp_wait(const loader::Image& image, std::vector<std::string>& environment,
                     UnitCounts units);

// LLVM's OpenMP ends a process that loads it twice. Here each copy has its own program, which
// is what it wants to make sure of.
void allow_many_openmp(const loader::Image& image,
                       std::vector<std::string>& environment);

}  // namespace mpc::job
