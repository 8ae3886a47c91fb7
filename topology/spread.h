#pragma once
// Spread: which cores are for communication, where ranks and communication share a machine.
//
// Role:      communication cores lie evenly between those of the ranks, so that each NUMA node and
//            most shared caches have theirs.
// Users:     runtime/job (mpcrun --comm-cores), sim.
// Threads:   pure.
// See also:  docs/overlap.md; Denis et al. 2018, section 3.

#include <vector>

namespace mpc::topo {

// `count` of the numbers 0..total-1, in order; the last of each of `count` equal parts.
// Requires: 0 <= count <= total.
std::vector<int> spread(int total, int count);

}  // namespace mpc::topo
