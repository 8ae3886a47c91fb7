#pragma once
// Tree: one rank's place in the tree of a rooted collective.
//
// Role:      parent, children and the level of each edge, for every shape of tree.
// Users:     nbc/algorithms.
// Threads:   pure functions.
// See also:  Denis et al. 2018, section 3 (levels); docs/collectives.md (pictures).
//
// Children are in rank order: the subtree of a child holds the ranks that follow those of
// this rank and of the children before it (in the order that begins at the root). So a
// reduction that takes its children one after the other is in rank order, and a broadcast that
// takes them in reverse feeds the largest subtrees first.
//
// Levels are levels of edges: 0 at the root, height - 1 at the leaves. For k-nomial trees the
// level is that of the digit: edges (v, v + d * k^i) have level height - 1 - i, so that the last
// level joins the most ranks and a rank may be a leaf of any level. A flat tree has one level, a
// chain one level for each edge. In a tree of places the levels inside a place end at
// height - 1 in every place, however many ranks it has.

#include <climits>
#include <span>
#include <vector>

#include "nbc/algorithms/collectives.h"

namespace mpc::nbc {

enum class TreeKind : uint8_t {
  kFlat,   // the root has all others as children
  kChain,  // 0 - 1 - 2 - ...
  kBinomial,
  kKnomial,  // in base k, the parent of v is v with its lowest non-zero digit cleared
  kPlaces,   // binomial over the first ranks of the places, binomial inside each place
  kPlacesFlat,  // the same, but inside a place all are children of its first rank: one core
  // does the work of a place in any case, and a flat tree has the fewest steps
};

struct TreeChild {
  int rank;
  int level;  // of the edge, 0 at the root
  int first,
      count;  // its subtree: `count` ranks from `first` on, counted from the root
};

struct Tree {
  int parent = -1;  // -1: this is the root
  int level = -1;   // of the edge to the parent
  int span = 0;     // ranks in the subtree, this one included
  int height = 0;   // levels of the whole tree, the same at all ranks
  // Edges from this level on belong to the application's cores (Shape::split).
  int application_level = INT_MAX;
  std::vector<TreeChild> children;
};

// `place_of_rank` is used by kPlaces and kPlacesFlat only; without it they are kBinomial. Their
// children's `first` and `count` name consecutive ranks only if the ranks of each place are
// neighbours in rank order.
// `arity`: for kKnomial.
Tree make_tree(TreeKind kind, int rank, int size, int root,
               std::span<const int> place_of_rank, int arity = 2);

// Returns kPlacesFlat instead of kPlaces for messages so small that steps cost more than bytes. Not
// for non-blocking calls, whose start would send to all ranks of a place.
TreeKind fit_tree(TreeKind kind, const Shape& shape, int64_t bytes);

// True if the ranks of each place are neighbours in rank order.
bool are_contiguous(std::span<const int> place_of_rank);

}  // namespace mpc::nbc
