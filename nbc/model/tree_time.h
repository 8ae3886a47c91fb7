#pragma once
// TreeTime: how long levels of a k-nomial tree take on a number of cores.
//
// Role:      the sum in equation (4) of the paper, without its assumption that a level begins
//            when the one before has ended on all cores.
// Users:     nbc/model/calibrated.cpp.
// Threads:   pure functions.
// See also:  nbc/model/levels.h (the paper's count), nbc/algorithms/tree.h (the same trees).
//
// Levels on application cores: each rank has its core (neighbours share one if there are fewer),
// which does what became ready first, upper levels first among equals. Downwards the core of the
// parent copies, upwards that of the child copies and that of the parent reduces.
// Levels on communication cores: any core that is free goes on with the progress thread that
// has waited longest, as the runtime does (list scheduling, Graham 1969). A copy belongs to the
// receiver's thread, or if that has other work and a core is free to the sender's; a reduction to
// the parent's. A thread does one thing at a time, in its rank's NUMA node if a core is free.

#include <cstdint>
#include <functional>

namespace mpc::nbc {

// Whose the cores are.
enum class TreeCores : uint8_t { kOfRanks, kShared };

struct TreeWork {
  int ranks = 1;
  int arity = 2;
  int first_level = 0, end_level = 0;  // the levels [first, end), 0 at the root
  int cores = 1;
  TreeCores whose = TreeCores::kOfRanks;
  int numa_count = 1;  // over which ranks and shared cores are spread evenly
  bool is_upwards = false;
  int segments = 1;         // the costs are those of one segment
  double own_block_us = 0;  // to move a rank's own block: scatter, gather
};

// The edge between a rank and its child: both counted from the root.
struct TreeEdge {
  int parent, child;
  int level;
  int span;  // ranks below the edge, the child included
};

struct EdgeCost {
  double copy_us = 0;
  double far_copy_us = 0;  // by a shared core of another NUMA node than the child's
  double reduce_us = 0;  // upwards only
};

int knomial_height(int ranks, int arity) noexcept;

// Requires: cores >= 1. Cost: O(ranks log ranks).
double tree_us(const TreeWork& work,
               const std::function<EdgeCost(const TreeEdge&)>& cost_of);

}  // namespace mpc::nbc
