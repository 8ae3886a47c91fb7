#pragma once
// TreeTime: how long levels of a k-nomial tree take on a given number of cores.
//
// Role:      the sum in equation (4) of the paper, without its assumption that a level begins
//            when the one before has ended on all cores.
// Users:     nbc/model/calibrated.cpp.
// Threads:   pure functions.
// See also:  nbc/model/levels.h (the paper's count), nbc/algorithms/tree.h (the same trees).
//
// Levels on application cores: each rank has its core (neighbours share one if there are fewer),
// which does what became ready first, upper levels first among equals. Downwards the core of the
// parent copies; upwards that of the child copies and that of the parent reduces.
// Levels on communication cores: any free core continues with the progress thread that
// has waited longest, as the runtime does (list scheduling, Graham 1969). A copy belongs to the
// receiver's thread, or, if that has other work and a core is free, to the sender's; a reduction to
// the parent's. A thread does one thing at a time, in its rank's NUMA node if a core is free.
// Both kinds of levels run at the same time, each as far as its data exist, and their copies
// share the bandwidth of the NUMA nodes (nbc/model/rates.h).

#include <cstdint>
#include <functional>

namespace mpc::nbc {

struct CopyWork {
  double fixed_us = 0;  // before the first byte
  double bytes = 0;
  // The rate of one copy alone; by a communication core of another NUMA node than the child's.
  double gbs = 1, far_gbs = 1;
};

struct TreeWork {
  int ranks = 1;
  int arity = 2;
  // The levels [first, end) are played, 0 at the root: those below kept_level on communication
  // cores, the others on application cores.
  int first_level = 0, kept_level = 0, end_level = 0;
  int application_cores = 1, communication_cores = 0;
  // Nodes over which ranks and communication cores are spread evenly.
  int numa_count = 1;
  bool is_upwards = false;
  int segments = 1;     // the costs are those of one segment
  CopyWork own_block;   // to move a rank's own block: scatter, gather; no bytes: none
  double numa_gbs = 0;  // all copies that touch one NUMA node; 0: no limit
};

// The edge between a rank and its child: both counted from the root.
struct TreeEdge {
  int parent, child;
  int level;
  int span;  // ranks below the edge, the child included
};

struct EdgeCost {
  CopyWork copy;
  double reduce_us = 0;  // upwards only
};

int knomial_height(int ranks, int arity) noexcept;

// Requires: application_cores >= 1, and communication_cores >= 1 if a level below kept_level is
// played. Cost: O(ranks log ranks).
double tree_us(const TreeWork& work,
               const std::function<EdgeCost(const TreeEdge&)>& cost_of);

}  // namespace mpc::nbc
