#pragma once
// Interfaces: which of this host's networks leads to the other hosts of a job.
//
// Role:      the interfaces that have the local addresses of connections.
// Users:     tools/mpclaunch/daemon.cpp, tools/mpclaunch/head_hosts.cpp.
// Threads:   any.
// See also:  runtime/wireup/record.h (kInterfacesVariable).

#include <string>
#include <vector>

namespace mpc::launch {

// "eth0,eth1"; the loopback interface does not count.
std::string interfaces_of(const std::vector<int>& connections);

}  // namespace mpc::launch
