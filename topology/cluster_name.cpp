#include "topology/cluster_name.h"

#include <charconv>

namespace mpc::topo {

std::optional<ClusterName> parse_cluster(const std::string& name) {
  ClusterName cluster{0, {}};
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, cluster.hosts);
  if (error != std::errc() || rest == end || *rest != '*') return std::nullopt;
  if (cluster.hosts < 1 || cluster.hosts > kMostHosts) return std::nullopt;
  cluster.machine.assign(rest + 1, end);
  return cluster;
}

}  // namespace mpc::topo
