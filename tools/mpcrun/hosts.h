#pragma once
// Hosts: on which hosts a job runs, and how many of its ranks each of them has.
//
// Role:      reads --hosts and --hostfile, and divides the ranks.
// Users:     tools/mpcrun/options.cpp.
// Threads:   any.
// See also:  tools/mpclaunch/plan.h, docs/cluster.md.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/mpclaunch/plan.h"

namespace mpc::tools {

// 0, empty: not given.
struct HostWish {
  std::string hosts, host_file;
  int ranks_per_host = 0, processes_per_host = 0;
  int processes = 0, ranks_per_process = 0;  // of the job; of each process

  bool names_hosts() const { return !hosts.empty() || !host_file.empty(); }
};

struct HostSlots {
  std::string name;
  int slots = 0;  // 0: not said
};

// "alpha,beta:4". Errors: kArg.
Result<std::vector<HostSlots>> parse_host_list(std::string_view text);
// Lines of Open MPI ("alpha slots=4") and of MPICH ("alpha:4"), and comments. Errors: kArg.
Result<std::vector<HostSlots>> parse_host_file(std::string_view text);

// Does this name mean the host on which we run?
bool is_this_host(const std::string& name);

// How many ranks the named hosts take: of each its slots, one if that is not said, or
// ranks_per_host. Errors: kArg.
Result<int> room_of(const HostWish& wish);

// Blocks of consecutive ranks, first to last host; none for a host that gets no rank.
// Errors: kArg: the fault, and what would be right.
Result<launch::Plan> plan_job(const HostWish& wish, int ranks);

}  // namespace mpc::tools
