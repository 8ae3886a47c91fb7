#pragma once
// Nest: groups of ranks within groups, and trees that cross between groups as rarely as possible.
//
// Role:      where the members of a communicator of several processes live (host, process, worker), as
//            layers of binomial trees: each group has one leader, and only leaders of neighbouring
//            groups are joined.
// Users:     nbc/algorithms builds trees with it; mpi/objects stores
//            one Homes per group of ranks; sim.
// Threads:   immutable.
// See also:  nbc/algorithms/tree.h (trees of one process), docs/design/0035-hosts-in-trees.md.
//
//   layer 0   hosts of the communicator      0 ------------------ 8          level 0
//   layer 1   processes of a host            0 ------- 4          8          level 1
//   layer 2   workers of a process           0 -- 2    4 -- 6     8 -- 10    level 2
//   layer 3   ranks of a worker              0-1  2-3  4-5  6-7   8-9  10    level 3
//
// The leader of a group is the root if the group contains it, else its lowest rank; the group of
// the root comes first in its layer. The levels of a layer end where those of the layer above
// begin, in every group alike, however many items it has: the last level of the tree joins ranks of
// a worker everywhere.

#include <memory>
#include <span>
#include <vector>

#include "nbc/algorithms/tree.h"

namespace mpc::nbc {

// Which layers are flat: the first item has all others as children.
struct NestForm {
  bool is_flat_inside = false;   // the innermost layer
  bool is_flat_outside = false;  // all others
};

class Nest {
 public:
  // Group numbers by rank, the outermost partition first; each refines the one before it, and numbers its
  // groups in the order of their lowest ranks. No partition: a binomial tree over all ranks.
  Nest(int size, std::span<const std::vector<int>> partitions);

  int layers() const noexcept { return static_cast<int>(layers_.size()); }
  // The children's `first` counts in order(), from this rank on. Cost: O(children), and for a leader
  // O(items of its layers).
  Tree tree(int rank, int root, NestForm form = {}) const;
  // The part of tree(rank, leader) inside the rank's outermost group; its
  // root is the leader, which is the group's lowest rank.
  Tree tree_inside(int rank, NestForm form = {}) const;
  // All ranks, ordered so that each subtree is a row of them: what a gather packs. Cost: O(size).
  std::vector<int> order(int root) const;

 private:
  // Items are groups; those of the last layer are ranks. The parent
  // of an item is an item of the layer above.
  struct Layer {
    std::vector<int> parent;  // by item
    std::vector<int> first;   // by parent: its first item in `items`; and the end
    std::vector<int> items;   // by parent, ascending
    std::vector<int> index;   // by item: among those of its parent
    std::vector<int> lowest, ranks;  // by item: lowest rank, number of ranks
    int most = 1;                    // items of one parent
  };
  static Layer layer_of(std::span<const int> parent_of_item, int parents,
                        std::span<const int> item_of_rank);
  static int height_of(const Layer& layer, bool is_flat);
  Tree tree_below(size_t top, int rank, int root, NestForm form) const;
  bool is_flat(size_t layer, NestForm form) const {
    return layer + 1 == layers_.size() ? form.is_flat_inside : form.is_flat_outside;
  }
  std::vector<int> items_of(int rank) const;  // by layer: the item that has it
  int leader(size_t layer, int item, std::span<const int> root_items) const;
  // Where the items of a group begin in `items`, and their order from there on.
  int start_of(size_t layer, int parent, std::span<const int> root_items) const;
  void add_order(size_t layer, int parent, std::span<const int> root_items,
                 std::vector<int>& order) const;

  std::vector<Layer> layers_;  // the outermost first
};

// Regions: groups of ranks that exchange data by one message per pair of regions, or by one rank
// per region. They are the hosts, or the processes of one host ("regions of locality" elsewhere).
class Regions {
 public:
  // Numbers by rank, in the order of the lowest ranks.
  explicit Regions(std::span<const int> region_of_rank);

  int count() const noexcept { return static_cast<int>(first_.size()) - 1; }
  int most() const noexcept { return most_; }  // ranks of one region
  int of(int rank) const { return of_[static_cast<size_t>(rank)]; }
  int index(int rank) const { return index_[static_cast<size_t>(rank)]; }
  std::span<const int> members(int region) const;  // ascending
  // The lowest rank: Nest calls it the leader, unless a root is in the region.
  int leader(int region) const { return members(region)[0]; }

 private:
  std::vector<int> of_, index_;  // by rank; the latter among the members
  std::vector<int> first_,
      members_;  // indexed by region: its first member in the other; and the end
  int most_ = 0;
};

// Where the ranks of a communicator live, the same at all its members.
class Homes {
 public:
  // Indexed by rank: any number for each host, process and worker. Workers
  // of different processes may have the same number.
  Homes(std::span<const int> host, std::span<const int> process,
        std::span<const int> worker);

  // False: no two ranks share a process or one of several hosts, so there is nothing to gain.
  bool has_groups() const noexcept { return has_groups_; }
  // Number of ranks in the process that has most of them.
  int most_in_process() const noexcept { return most_in_process_; }
  const Nest& all() const noexcept { return *all_; }  // hosts, processes, workers
  // The partitions among them whose groups are rows of ranks:
  // the tree's order is that of the ranks.
  const Nest& in_order() const noexcept { return *in_order_; }
  const Nest& outside() const noexcept { return *outside_; }  // hosts, processes
  // The outermost groups of outside(); one region if everything is one process.
  const Regions& regions() const noexcept { return *regions_; }
  // The outermost groups that are rows of ranks; null: there
  // are none, or each rank is a group alone.
  const Regions* rows() const noexcept { return rows_.get(); }

 private:
  std::unique_ptr<const Nest> all_, in_order_, outside_;
  std::unique_ptr<const Regions> regions_, rows_;
  int most_in_process_ = 1;
  bool has_groups_ = false;
};

}  // namespace mpc::nbc
