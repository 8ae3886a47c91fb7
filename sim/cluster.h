#pragma once
// Cluster: the simulated hosts, all alike, with one numbering of their cores.
//
// Role:      cores of the first host come first, then those of the second one; a host is a topo::Machine.
// Users:     sim.
// Threads:   immutable.
// See also:  topology/machine.h, sim/links.h (what is between hosts).

#include <algorithm>
#include <cstdint>

#include "nbc/model/parameters.h"
#include "sim/placement.h"
#include "topology/machine.h"

namespace mpc::sim {

class Cluster {
 public:
  Cluster(const topo::Machine& host, int hosts)
      : machine_(host),
        hosts_(hosts),
        cores_(static_cast<uint32_t>(host.core_count())) {
    for (int core = 0; core < host.core_count(); ++core)
      numa_of_host_ = std::max(numa_of_host_, host.core(core).numa + 1);
  }

  int hosts() const { return hosts_; }
  uint32_t host_of(uint32_t core) const { return core / cores_; }
  int numa_count() const { return numa_of_host_ * hosts_; }
  int numa(uint32_t core) const {
    return static_cast<int>(host_of(core)) * numa_of_host_ +
           machine_.core(in_host(core)).numa;
  }
  // Requires: cores of one host.
  int distance(uint32_t a, uint32_t b) const {
    return machine_.distance(in_host(a), in_host(b));
  }
  nbc::Reach reach(uint32_t a, uint32_t b) const {
    return reach_between(machine_, in_host(a), in_host(b));
  }

 private:
  int in_host(uint32_t core) const { return static_cast<int>(core % cores_); }

  const topo::Machine& machine_;
  int hosts_;
  uint32_t cores_;  // of one host
  int numa_of_host_ = 1;
};

}  // namespace mpc::sim
