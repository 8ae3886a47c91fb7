#pragma once
// Ordered: accesses of all members through the shared file pointer, in the order of their ranks.
//
// Role:      tells where each member's data begin: all members bring the length of theirs.
// Users:     mpi/io/shared_calls.cpp, mpi/io/split_calls.cpp.
// Threads:   any execution of the rank; collective.
// See also:  mpi/io/shared_pointer.h; MPI-4.1 section 14.4.4.

#include "mpi/io/pending.h"

namespace mpc::mpi {

// The whole access, except for status and error. Switches: yes.
Err run_ordered(const char* call, Access& access, File& file, Direction direction,
                const Data& data);

}  // namespace mpc::mpi
