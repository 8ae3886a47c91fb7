#pragma once
// Placement: which core runs which rank, and which core does whose communication.
//
// Role:      ranks in order on N cores, the other cores between them for communication.
// Users:     sim/player.h.
// Threads:   pure functions.
// See also:  topology/spread.h (as mpcrun does it), docs/overlap-model.md; Denis et al. 2018, section 5 ("closest idle cores").

#include <vector>

#include "nbc/model/parameters.h"
#include "topology/machine.h"

namespace mpc::sim {

struct Placement {
  int core_count = 0;
  std::vector<int> core_of_rank;
  std::vector<int> helper_of_rank;  // communication core of each rank; -1: none
  std::vector<int> communication_cores;
};

// Communication cores lie evenly between the ranks, so that each rank has one close by; ranks
// share them in equal parts, neighbours the same one.
// `hosts` identical machines in a row, with `ranks` on each.
// Requires: 1 <= ranks <= cores of the machine.
Placement place(const topo::Machine& machine, int ranks, int hosts = 1);

nbc::Reach reach_between(const topo::Machine& machine, int core_a, int core_b);
nbc::MachineShape shape_of(const topo::Machine& machine);

}  // namespace mpc::sim
