#pragma once
// CoreLeases: records which cores this job is bound to, and asks about those of other jobs.
//
// Role:      prevents two simultaneous jobs from binding to the same cores. A lease is an abstract
//            Unix socket with the core's name: the kernel gives a name to only one socket, whoever
//            asks for it, and takes it back when the process ends in whatever way. No file, nothing
//            to clean up.
// Users:     runtime/job/node_job.cpp.
// Threads:   any one at a time.
// See also:  docs/mpcrun.md section "Several jobs at a time"; unix(7), "abstract".
//
// Leases hold among processes of one network namespace. If no socket can be created (a sandbox, few
// descriptors), all cores seem free, and nothing is leased.

#include <cstddef>
#include <vector>

namespace mpc::job {

class CoreLeases {
 public:
  enum class Use { kRanks, kCommunication };

  CoreLeases();
  ~CoreLeases();  // releases all leases
  CoreLeases(const CoreLeases&) = delete;

  // Does another job have ranks there, or its communication? Leases of this job count, too.
  // Cost: a system call.
  bool is_taken(int os_pu, Use use) const noexcept;
  // False: another job was faster and has the core. Cost: two system calls, and a
  // descriptor until the end.
  bool take(int os_pu, Use use) noexcept;
  void give_back() noexcept;

  // Do leases for so many cores need few enough descriptors that the program will not miss them?
  static bool has_room_for(size_t cores) noexcept;

 private:
  int probe_ = -1;  // asks; has no name itself
  std::vector<int> held_;
};

}  // namespace mpc::job
