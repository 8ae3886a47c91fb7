#pragma once
// Overdue nodes: a rank's progress thread runs nodes that have waited long for their rank.
//
// Role:      the last resort for the levels of a split tree that are kept for the ranks, and
//            for user reductions: a rank that computes for long delays other ranks. At the
//            monitor's tick (10 ms) nodes that existed at the tick before are handed to the
//            rank's progress thread, if a core is free for it.
// Users:     nbc/engine.
// Threads:   see each function.
// See also:  docs/design/0013-background-work.md.

#include "nbc/engine/rank_engine.h"

namespace mpc::nbc {

// The function that runs the nodes that are kept for a rank.
using RunKeptNodes = bool (*)(job::Rank& rank);

// From now on nodes may wait for ranks of this job. Caller: any, always with the same `run`; the
// first call registers with the scheduler. Cost: one load afterwards.
void expect_overdue_nodes(job::Rank& rank, RunKeptNodes run) noexcept;

// Takes the rank's engine away, at the rank's end: no tick checks it any more, and no item of it is
// queued or runs. Null if the rank has none. Caller: the rank. Switches: perhaps.
RankEngine* take_engine(job::Rank& rank) noexcept;

}  // namespace mpc::nbc
