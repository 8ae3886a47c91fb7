#pragma once
// ClusterName: "16*knl64", sixteen hosts that are such machines.
//
// Role:      how the models are told of a cluster.
// Users:     tools/mpcinfo, topology/machine.cpp (which refuses it by its right name).
// Threads:   pure.
// See also:  docs/topology.md.

#include <optional>
#include <string>

namespace mpc::topo {

inline constexpr int kMostHosts = 1 << 16;

struct ClusterName {
  int hosts;
  std::string machine;  // of each: a name for Machine::by_name()
};

// Null: no such spelling, or not 1 to kMostHosts hosts.
std::optional<ClusterName> parse_cluster(const std::string& name);

}  // namespace mpc::topo
