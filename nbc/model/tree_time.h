#pragma once
// TreeTime: how long levels of a k-nomial tree take on a number of cores.
//
// Role:      the sum in equation (4) of the paper, without its assumption that a level begins
//            when the one before has ended on all cores.
// Users:     nbc/model/calibrated.cpp.
// Threads:   pure functions.
// See also:  nbc/model/levels.h (the paper's count), nbc/algorithms/tree.h (the same trees).
//
// The work of ranks is spread over the cores in equal blocks of neighbours; a core does what
// became ready first, upper levels first among equals. Downwards the core of the parent copies,
// upwards that of the child copies and that of the parent reduces.

#include <cstdint>
#include <functional>

namespace mpc::nbc {

struct TreeWork {
  int ranks = 1;
  int arity = 2;
  int first_level = 0, end_level = 0;  // the levels [first, end), 0 at the root
  int cores = 1;
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
  double reduce_us = 0;  // upwards only
};

int knomial_height(int ranks, int arity) noexcept;

// Requires: cores >= 1. Cost: O(ranks log ranks).
double tree_us(const TreeWork& work,
               const std::function<EdgeCost(const TreeEdge&)>& cost_of);

}  // namespace mpc::nbc
