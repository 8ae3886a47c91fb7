#pragma once
// GroupTable: the world ranks of a group, in order; one object for all ranks that share it.
//
// Role:      communicator rank <-> world rank. Tables of equal content are one object of the
//            process, so that 10,000 ranks with a WORLD each hold one table between them.
// Users:     mpi (Group, Comm); collectives are told the span of world ranks.
// Threads:   immutable; make() may be called by any.
// See also:  mpi/objects/group.h, mpi/objects/comm.h.

#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "mpi/objects/process_list.h"

namespace mpc::nbc {
class Homes;
}

namespace mpc::mpi {

class GroupTable;
using GroupRef = std::shared_ptr<const GroupTable>;

class GroupTable {
 public:
  // World ranks, all different. The same content gives the same object.
  // Cost: O(size); one lock.
  static GroupRef make(std::vector<int> world_ranks);
  static GroupRef world(int size);  // 0 .. size - 1; O(1) while such a table lives
  static GroupRef empty();

  int size() const noexcept { return static_cast<int>(ranks_.size()); }
  int world_rank(int index) const noexcept {
    return ranks_[static_cast<size_t>(index)];
  }
  std::span<const int> world_ranks() const noexcept { return ranks_; }
  // -1: not a member. Cost: O(1) for world ranks that form an arithmetic progression (WORLD and
  // most of what split and incl make of it), else O(log size).
  int index_of(int world_rank) const noexcept;

  // The worker on which each member was placed at its start, for hierarchical schedules; computed
  // at the first use. Empty in a singleton.
  std::span<const int> places() const;

  // Hash of the content: the same in every process.
  uint64_t hash() const;
  // True: at least one member belongs to another job.
  bool has_far_members() const noexcept;
  // Where the members live; computed at the first use. `map`: the job's.
  const ProcessList& processes(const job::ProcessMap& map) const;

  // The groups of members that share a process, for trees over several processes; computed at the
  // first use. Null: no two members share a process, or one of several hosts.
  const nbc::Homes* homes(const job::ProcessMap& map) const;
  // The same by worker, as if workers were processes; computed at the first use. Null: no two
  // members share a worker, or the workers are not known.
  const nbc::Homes* workers() const;

  struct PrivateTag {};
  GroupTable(PrivateTag, std::vector<int> world_ranks);

 private:
  std::vector<int> ranks_;
  int stride_ = 0;  // of the progression; 0: none, look up in sorted_
  mutable std::once_flag placing_;
  mutable std::vector<int> places_;
  mutable std::once_flag listing_;
  mutable std::unique_ptr<const ProcessList> processes_;
  mutable std::once_flag housing_;
  mutable std::shared_ptr<const nbc::Homes> homes_;
  mutable std::once_flag sharing_;
  mutable std::shared_ptr<const nbc::Homes> workers_;
  mutable std::once_flag sorting_;
  mutable std::vector<std::pair<int, int>> sorted_;  // (world rank, index)
};

}  // namespace mpc::mpi
