#pragma once
// Balanced factors: what MPI_Dims_create computes.
//
// Role:      pure arithmetic, testable without MPI.
// Users:     mpi/topo/cart.cpp.
// Threads:   pure.
// See also:  MPI-4.1 section 8.5.2.

#include <vector>

namespace mpc::mpi {

// `nodes` as a product of `count` factors in non-increasing order, as close to each other as
// possible: the least difference of the largest and the smallest; of these the largest smallest
// factor, then the least sum.
// Needs nodes >= 1, count >= 1.
std::vector<int> balanced_factors(int nodes, int count);

}  // namespace mpc::mpi
