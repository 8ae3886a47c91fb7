#pragma once
// Plan: how many processes of a job each host has, with how many ranks each.
//
// Role:      mpcrun makes it from --hosts and its kin, or for one host from -p; it is one word of
//            mpclaunch's
//            command line.
// Users:     tools/mpcrun/hosts.h, tools/mpclaunch.
// Threads:   plain data.
// See also:  docs/cluster.md.

#include <string>
#include <vector>

namespace mpc::launch {

struct HostPlan {
  std::string name;        // as the user wrote it
  bool is_here = false;    // mpcrun runs there: no agent is needed
  std::vector<int> ranks;  // of each process
};

struct Plan {
  std::vector<HostPlan> hosts;

  int processes() const;
  int ranks() const;
  bool has_other_hosts() const;
  // The ranks of the processes of all hosts, in order.
  std::vector<int> ranks_of_processes() const;
  // The same as "MPC_LAUNCHER_RANKS=4,4;8", for the environment of processes.
  std::string ranks_variable() const;
  // The first process of a host; for the index behind the last host: processes().
  int first_process(int host) const;
  int host_of(int process) const;
};

// ".alpha=4,4;beta=4,4": the dot says that mpcrun is there.
std::string encode(const Plan& plan);
// Empty if the text is no plan.
Plan decode_plan(const std::string& text);

}  // namespace mpc::launch
