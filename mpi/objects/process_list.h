#pragma once
// ProcessList: the processes that the members of a group live in, and how many in each.
//
// Role:      tells which members come to a meeting in this process, and which other processes take
//            part. These are numbered as in their job, or, where members of several jobs meet, in
//            the way that is the same everywhere (runtime/job/neighbours.h).
// Users:     mpi: groups and communicators have one, meetings read it.
// Threads:   immutable.
// See also:  runtime/job/process_map.h, mpi/objects/meeting.h.

#include <initializer_list>
#include <span>
#include <vector>

#include "runtime/job/process_map.h"

namespace mpc::mpi {

class ProcessList {
 public:
  // The list for all members of all groups; groups have no member in common. Cost: O(members).
  ProcessList(const job::ProcessMap& map,
              std::initializer_list<std::span<const int>> groups);

  // Ascending: the order in which contributions are merged.
  std::span<const int> processes() const noexcept { return processes_; }
  bool is_one_process() const noexcept { return processes_.size() <= 1; }
  // True: members belong to several jobs.
  bool spans_jobs() const noexcept { return spans_jobs_; }
  // The number that this process, which is `process` in its job, has in the list.
  int number_of(int process) const noexcept;
  // The number that the process of a member has in the list. Cost: as ProcessMap::process_of().
  int process_of(const job::ProcessMap& map, int world_rank) const;
  int first() const noexcept { return processes_.front(); }
  // -1: no member lives there. Cost: O(log processes).
  int index_of(int process) const noexcept;
  int members_in(int process) const noexcept;

 private:
  std::vector<int> processes_, members_;  // the same order
  bool spans_jobs_ = false;
};

}  // namespace mpc::mpi
