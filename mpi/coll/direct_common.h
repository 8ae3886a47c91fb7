#pragma once
// Common parts of the direct collectives of MPI: the choice, the operation, the errors.
//
// Role:      the choice and the errors (mpi/objects/go_direct.h), an operation's functions.
// Users:     mpi/coll/direct.cpp, mpi/coll/direct_one_way.cpp.
// Threads:   any execution of the rank.
// See also:  mpi/coll/direct.h.

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "mpi/objects/go_direct.h"
#include "mpi/objects/op.h"
#include "mpi/objects/views.h"
#include "nbc/direct/direct.h"

namespace mpc::mpi {

// Sets the functions of a predefined operation. False: there are none; the path with schedules
// reports why.
bool describe_operation(nbc::direct::Operation& out, const dt::Datatype& type,
                        const Op& op);

}  // namespace mpc::mpi
