#pragma once
// HostMap: the hosts of a job, and which of them each process runs on.
//
// Role:      answers "are these two on one host?": if so they can share memory, and have one clock.
// Users:     runtime/job (creates it), runtime/message, mpi.
// Threads:   any, once it is created.
// See also:  runtime/job/card.h (host_identity), runtime/job/process_map.h.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpc::job {

class HostMap {
 public:
  HostMap() = default;  // one host
  // For each process a value that is the same on one host, and only there.
  explicit HostMap(std::vector<uint64_t> identities);

  int hosts() const noexcept { return hosts_; }
  // Hosts are counted in the order of their first processes.
  int host_of(int process) const noexcept {
    return host_of_.empty() ? 0 : host_of_[static_cast<size_t>(process)];
  }
  // A value that is the same on one host, and only there, in all jobs.
  uint64_t identity_of(int process) const;

 private:
  int hosts_ = 1;
  std::vector<int> host_of_;          // empty: there is one
  std::vector<uint64_t> identities_;  // empty: all are on this host
};

// The map of this process's job.
const HostMap& host_map() noexcept;
// Caller: the main thread, before a rank starts.
void set_host_map(HostMap map);

// The same of a process of another job that this one is connected with; 0: it is not. Set by the thread
// that connects, before its ranks are members of a communicator.
uint64_t host_of_neighbour(int slot) noexcept;
void set_host_of_neighbour(int slot, uint64_t identity) noexcept;

}  // namespace mpc::job
