#pragma once
// ProcessMap: the processes of a job, their hosts, and which of them each rank lives in.
//
// Role:      answers "do these two ranks share memory?" for everything that reaches into another
//            rank: mailboxes, meetings, collectives. Today a job has one process, or pretends to
//            have several (job.virtual_processes): then no rank touches the memory of a rank in
//            another process except through a network.
// Users:     runtime/job, runtime/message, mpi.
// Threads:   any, once created.
// See also:  runtime/job/job.h.

#include <vector>

namespace mpc::job {

// World ranks first .. end - 1.
struct RankRange {
  int first = 0;
  int end = 0;
  int size() const noexcept { return end - first; }
  bool contains(int world_rank) const noexcept {
    return world_rank >= first && world_rank < end;
  }
};

class ProcessMap {
 public:
  // All ranks in one process on one host.
  explicit ProcessMap(int ranks);
  // Consecutive ranks in each process, whose sizes differ by at most one; all on one host. At most
  // as many processes as ranks, at least one.
  static ProcessMap in_blocks(int ranks, int processes);
  // Consecutive ranks, so many in each process: at least one process, and one rank in each.
  static ProcessMap of_sizes(const std::vector<int>& sizes);

  int ranks() const noexcept { return starts_.back(); }
  int processes() const noexcept { return static_cast<int>(starts_.size()) - 1; }
  bool is_one_process() const noexcept { return processes() == 1; }
  int process_of(int world_rank) const noexcept;
  RankRange ranks_of(int process) const noexcept {
    return {starts_[process], starts_[process + 1]};
  }
  bool share_memory(int world_rank, int other) const noexcept {
    return is_one_process() || process_of(world_rank) == process_of(other);
  }

 private:
  std::vector<int> starts_;  // first rank of each process, and the number of ranks
};

}  // namespace mpc::job
