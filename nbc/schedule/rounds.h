#pragma once
// Rounds: a schedule in the form of LibNBC, as a baseline to compare graphs with.
//
// Role:      groups the nodes of a finished schedule into rounds; a round starts when all
//            nodes of the round before are complete (a nop between the two waits for them).
// Users:     nbc/algorithms/table.cpp (setting nbc.style), tests.
// Threads:   pure function.
// See also:  Hoefler et al. 2007; Nomura et al., section III-B (what rounds cost);
//            docs/design/0008-rounds-split-knomial.md.
//
// How nodes get their round, in the order in which the builder created them (as far as
// dependencies allow):
//   - a message goes into the round after the last message that it depends on, but not into an
//     earlier round than the message made before it. So the k-th send and the (k+1)-th receive
//     of a pipeline share a round, as in LibNBC, and the receive is not posted earlier;
//   - a copy or reduction runs at the start of the round after the last message it depends on,
//     before the messages of that round that depend on it.
//
// Whether rounds can deadlock therefore depends on the order in which a builder creates messages: a
// send must not come after a receive that is answered only by what follows that send elsewhere.
// Every algorithm of the table is proved in this form as well (tests/unit/nbc).

#include <memory>
#include <vector>

#include "base/result.h"
#include "nbc/schedule/schedule.h"

namespace mpc::nbc {

// The round of each node.
std::vector<int> rounds_of(const Schedule& schedule);

// A schedule with the same nodes under the same numbers, then one nop after each round but the last.
Result<std::shared_ptr<const Schedule>> to_rounds(const Schedule& schedule);

}  // namespace mpc::nbc
