#pragma once
// The calibrated model: what a collective costs on a machine, in microseconds.
//
// Role:      the paper's equations with real numbers: latency, bandwidth, concurrent copies,
//            NUMA nodes, reductions, ranks that share cores, other algorithms than the
//            binomial tree.
// Users:     nbc/model/chooser.h, tools/mpcinfo, sim, tests.
// Threads:   pure functions.
// See also:  docs/overlap-model.md (how it differs from the paper's), nbc/model/paper.h.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nbc/model/parameters.h"
#include "nbc/model/situation.h"
#include "nbc/schedule/coll.h"

namespace mpc::nbc {

// The plans that the model knows for this collective, the plainest one first. With `algorithm` set:
// only that one (in several segment sizes), or a plan of
// form kBalanced if the model does not know it.
std::vector<Plan> plans_for(const Situation& situation);

// Times by S, from 0 to "everything is kept". Trees have all S, other forms the two ends.
std::vector<SplitTime> predict(const Situation& situation, const Plan& plan,
                               const Parameters& parameters);
// The lowest overlapped time, with the lowest S on ties. Requires: not empty.
const SplitTime& best_of(const std::vector<SplitTime>& times, double window_us);
// Time of a blocking call: everything on the application cores.
double blocking_us(const Situation& situation, const Plan& plan,
                   const Parameters& parameters);

// The paper's computation: it lasts as long as the blocking collective over a binomial tree
// when every core has a rank, spread over fewer ranks here. Used where the real window is
// unknown. Source: equation (2), the right way up.
double nominal_window_us(const Situation& situation, const Parameters& parameters);

}  // namespace mpc::nbc
