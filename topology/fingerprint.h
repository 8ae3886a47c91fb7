#pragma once
// fingerprint: a short name of a machine's shape, and its regular outline.
//
// Role:      finds the file of measurements that belongs to a machine; gives models, which know
//            no topology, the numbers they need.
// Users:     tools/mpcinfo, sim, nbc/overlap.
// Threads:   pure functions.
// See also:  nbc/model/machine_file.h.

#include <string>

#include "topology/machine.h"

namespace mpc::topo {

// 16 hexadecimal digits from cores, hardware threads and the levels that cores share: equal
// for equal machines, whatever they are called.
// Cost: O(cores).
std::string fingerprint(const Machine& machine);

// Cores that share core 0's largest cache (1: none is shared) and its NUMA node.
struct Outline {
  int cores = 1, cores_per_cache = 1, cores_per_numa = 1;
};
Outline outline(const Machine& machine);

}  // namespace mpc::topo
