#pragma once
// Schedules of collectives over two groups (intercommunicators).
//
// Role:      every message goes from one group to the other; peers are ranks of the remote
//            group, so a Binding names the remote group's world ranks.
// Users:     mpi.
// Threads:   pure functions.
// See also:  MPI-4.1 section 6.2.3; nbc/algorithms/collectives.h (Shape).
//
// One simple algorithm for each: direct messages. Shape::root says kIsRoot at the root,
// kNoPart at the other members of its group, and the root's rank in the other group.
// Array arguments and types of w forms are indexed by rank of the remote group; Shape::size is that
// of the local group.

#include "base/mpi_constants.h"
#include "nbc/algorithms/collectives.h"

namespace mpc::nbc {

inline constexpr int kNoPart = abi::kProcNull;
inline constexpr int kIsRoot = abi::kRoot;

// Errors: kComm for what MPI does not define over two groups (scan, exscan,
// neighbourhoods); those of build().
Result<std::shared_ptr<const Schedule>> build_inter(const Shape& shape,
                                                    int remote_size);

}  // namespace mpc::nbc
