#pragma once
// Rescue: nodes that wait for their rank for long are run by its progress thread.
//
// Role:      the last resort for the levels of a split tree that are kept for the ranks, and
//            for user reductions: a rank that computes for long holds up others. At the
//            monitor's tick (10 ms) nodes that were there at the tick before go to the
//            rank's progress thread, if a core is free for it.
// Users:     nbc/engine.
// Threads:   see each function.
// See also:  docs/design/0013-background-work.md.

#include "runtime/job/rank.h"

namespace mpc::nbc {

class RankState;

// Nodes may wait for ranks of this job from now on. Caller: any; the first call registers with
// the scheduler. Cost: one load afterwards.
void expect_rescues(job::Rank& rank) noexcept;

// Takes the rank's state away, at its end: no tick looks at it any more, and no item of it is
// queued or runs. Null if it has none. Caller: the rank. Switches: perhaps.
RankState* take_state(job::Rank& rank) noexcept;

}  // namespace mpc::nbc
