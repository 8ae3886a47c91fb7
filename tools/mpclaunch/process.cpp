#include "tools/mpclaunch/process.h"

#include <sys/wait.h>

#include "runtime/job/exit_status.h"

namespace mpc::launch {

std::string Process::name() const {
  const std::string first = std::to_string(first_rank),
                    last = std::to_string(last_rank);
  return "process " + std::to_string(index) +
         (first_rank == last_rank ? " (rank " + first
                                  : " (ranks " + first + "-" + last) +
         ")" + (host_name.empty() ? "" : " on host " + host_name);
}

std::vector<Process> processes_of(const Plan& plan) {
  std::vector<Process> all;
  int rank = 0;
  for (const int ranks : plan.ranks_of_processes()) {
    Process process;
    process.index = static_cast<int>(all.size());
    process.first_rank = rank;
    process.last_rank = rank + ranks - 1;
    process.host = plan.host_of(process.index);
    if (plan.has_other_hosts())
      process.host_name = plan.hosts[static_cast<size_t>(process.host)].name;
    all.push_back(std::move(process));
    rank += ranks;
  }
  return all;
}

int status_of(int wait_status) noexcept {
  return WIFSIGNALED(wait_status) ? job::kExitSignal + WTERMSIG(wait_status)
                                  : WEXITSTATUS(wait_status);
}

}  // namespace mpc::launch
