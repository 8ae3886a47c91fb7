#pragma once
// Overdue nodes: nodes that wait for their rank for long are run by its progress thread.
//
// Role:      the last resort for the levels of a split tree that are kept for the ranks, and
//            for user reductions: a rank that computes for long holds up others. At the
//            monitor's tick (10 ms) nodes that were there at the tick before go to the
//            rank's progress thread, if a core is free for it.
// Users:     nbc/engine.
// Threads:   see each function.
// See also:  docs/design/0013-background-work.md.

#include "nbc/engine/rank_engine.h"

namespace mpc::nbc {

// What runs the nodes that are kept for a rank.
using RunKeptNodes = bool (*)(job::Rank& rank);

// Nodes may wait for ranks of this job from now on. Caller: any, always with the same `run`; the
// first call registers with the scheduler. Cost: one load afterwards.
void expect_overdue_nodes(job::Rank& rank, RunKeptNodes run) noexcept;

// Takes the rank's engine away, at its end: no tick looks at it any more, and no item of it is
// queued or runs. Null if it has none. Caller: the rank. Switches: perhaps.
RankEngine* take_engine(job::Rank& rank) noexcept;

}  // namespace mpc::nbc
