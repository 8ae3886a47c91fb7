#include "mpi/objects/process_list.h"

#include <algorithm>
#include <map>

#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"

namespace mpc::mpi {

namespace neighbours = job::neighbours;

namespace {

// The number that a process of this job has where members of several jobs meet.
int number_among_jobs(int process) {
  const int slot = neighbours::slot_of_process(process);
  if (slot == 0)
    job::Job::instance().abort(
        1,
        "mpc: a group of several jobs has a member in a process of this job that is "
        "not connected with the others");
  return neighbours::far_process(slot);
}

}  // namespace

ProcessList::ProcessList(const job::ProcessMap& map,
                         std::initializer_list<std::span<const int>> groups) {
  std::map<int, int> counts;
  for (const std::span<const int> group : groups)
    for (const int world_rank : group) ++counts[map.process_of(world_rank)];
  // Processes of other jobs have larger numbers than those of this job.
  if (!counts.empty() && neighbours::is_far_process(counts.rbegin()->first) &&
      !neighbours::is_far_process(counts.begin()->first)) {
    spans_jobs_ = true;
    std::map<int, int> everywhere;
    for (const auto& [process, members] : counts)
      everywhere[neighbours::is_far_process(process) ? process
                                                     : number_among_jobs(process)] =
          members;
    counts.swap(everywhere);
  }
  for (const auto& [process, members] : counts) {
    processes_.push_back(process);
    members_.push_back(members);
  }
}

int ProcessList::number_of(int process) const noexcept {
  return spans_jobs_ ? neighbours::far_process(neighbours::own_slot()) : process;
}

int ProcessList::process_of(const job::ProcessMap& map, int world_rank) const {
  const int process = map.process_of(world_rank);
  return spans_jobs_ && !neighbours::is_far_process(process)
             ? number_among_jobs(process)
             : process;
}

int ProcessList::index_of(int process) const noexcept {
  const auto at = std::lower_bound(processes_.begin(), processes_.end(), process);
  if (at == processes_.end() || *at != process) return -1;
  return static_cast<int>(at - processes_.begin());
}

int ProcessList::members_in(int process) const noexcept {
  const int index = index_of(process);
  return index < 0 ? 0 : members_[static_cast<size_t>(index)];
}

}  // namespace mpc::mpi
