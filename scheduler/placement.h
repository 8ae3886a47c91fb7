#pragma once
// Placement: which worker each rank starts on.
//
// Role:      turns a policy and a machine into a table.
// Users:     runtime/job (mpcrun --bind, --cores), tests; the simulator later.
// Threads:   any (pure).
// See also:  docs/scheduler.md section "Placement".

#include <vector>

#include "base/result.h"
#include "topology/machine.h"

namespace mpc::sched {

enum class Placement {
  kScatter,  // consecutive ranks far from each other: rank r on the r-th of the spread cores
  kCompact,  // consecutive ranks together: blocks of ranks on neighbouring cores
  kList,     // as the user says: rank r on list[r % size]
};

// The worker of each rank 0..rank_count-1, where worker i is bound to core worker_cores[i].
// `list` (kList only) names cores of the machine, each one the core of some worker.
// If there are no more ranks than workers, no worker gets two of them (kScatter, kCompact).
// Errors: kArg.
Result<std::vector<int>> place_ranks(const topo::Machine& machine,
                                     const std::vector<int>& worker_cores,
                                     int rank_count, Placement placement,
                                     const std::vector<int>& list = {});

// The share of each worker in `pool`, the cores for ranks and their threads: its own core first,
// then the nearest cores that belong to no other worker, the same number for each worker. So ranks
// with threads do not disturb each other.
// Shapes: result[i] belongs to worker_cores[i]. A worker whose
// core is not in the pool gets only its own.
std::vector<std::vector<int>> share_cores(const topo::Machine& machine,
                                          const std::vector<int>& worker_cores,
                                          const std::vector<int>& pool);

}  // namespace mpc::sched
