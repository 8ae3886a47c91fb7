#pragma once
// Units: the processing units (hardware threads) of a core.
//
// Role:      what a set of cores means to the system, for affinities.
// Users:     scheduler.
// Threads:   immutable, as the machine.
// See also:  topology/machine.h.

#include <vector>

#include "topology/machine.h"

namespace mpc::topo {

// The system's numbers of all processing units of a core, Core::os_pu first.
const std::vector<int>& units_of(const Machine& machine, int core);

}  // namespace mpc::topo
