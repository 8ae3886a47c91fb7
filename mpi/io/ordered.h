#pragma once
// Ordered: accesses of all members through the shared file pointer, in the order of their ranks.
//
// Role:      where each member's data begin: all bring how much they have.
// Users:     mpi/io/shared_calls.cpp, mpi/io/split_calls.cpp.
// Threads:   any execution of the rank; collective.
// See also:  mpi/io/shared_pointer.h; MPI-4.1 section 14.4.4.

#include "mpi/io/pending.h"

namespace mpc::mpi {

// The whole access but for status and error. Switches: yes.
Err run_ordered(const char* call, Access& access, File& file, Direction direction,
                const Data& data);

}  // namespace mpc::mpi
