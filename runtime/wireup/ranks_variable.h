#pragma once
// The ranks of each process of a job, as the launcher tells them: "4,4;8", a ';' between hosts.
//
// Role:      reads and writes kRanksVariable.
// Users:     runtime/wireup/connect.cpp, tools/mpcrun, tools/mpclaunch/plan.cpp.
// Threads:   no one changes the environment meanwhile.
// See also:  runtime/wireup/record.h.

#include <string>
#include <string_view>
#include <vector>

namespace mpc::wireup {

// For each host the ranks of its processes, in order.
using RanksByHost = std::vector<std::vector<int>>;

std::string ranks_text(const RanksByHost& ranks);
RanksByHost parse_ranks(std::string_view text);
// Empty: no launcher has started this process.
RanksByHost ranks_in_environment();

}  // namespace mpc::wireup
