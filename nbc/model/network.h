#pragma once
// Network: the cost of the levels of a tree between hosts, above those within a host.
//
// Role:      the calibrated model of a cluster whose hosts are alike.
// Users:     nbc/model/calibrated.cpp.
// Threads:   pure functions.
// See also:  docs/overlap-model.md (section "Several hosts"), sim/links.h, which plays the same links.

#include <cstdint>
#include <vector>

#include "nbc/model/parameters.h"
#include "nbc/model/situation.h"

namespace mpc::nbc {

// The levels between hosts in one direction, from the root on, in microseconds. A host sends or
// receives at most one message of a level, on a link of its own, so the messages of a level travel
// at the same time. Levels wait for each other, because their messages share the root's link.
std::vector<double> network_levels(const Situation& situation,
                                   const Parameters& parameters, int64_t segments,
                                   bool reduces);

// `times`: of a tree within one host, by S. Returns those of the
// whole tree: levels of the network are kept last.
std::vector<SplitTime> with_network(const Situation& situation, int64_t segments,
                                    const Parameters& parameters,
                                    std::vector<SplitTime> times);

}  // namespace mpc::nbc
