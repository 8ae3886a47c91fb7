#pragma once
// Trace points of the engine: a collective's start and end, its nodes, its local work.
//
// Role:      separates what is recorded from what is done; all of it is cold.
// Users:     nbc/engine.
// Threads:   any; the collective is alive during the call.
// See also:  base/trace.h, docs/tracing.md (what the values mean).

#include "base/trace.h"
#include "nbc/engine/collective.h"

namespace mpc::nbc::tracing {

// A node is a flight: a message may end on a different core than it began on, and many are under
// way at a time. Its number is the collective's, times 2^32, plus its own.
[[gnu::cold]] void collective_begins(Collective& c) noexcept;
[[gnu::cold]] void collective_ends(const Collective& c) noexcept;
[[gnu::cold]] void node_begins(const Collective& c, NodeId id) noexcept;
[[gnu::cold]] void node_ends(const Collective& c, NodeId id) noexcept;

// A copy or reduction, on the core that does it.
[[gnu::cold]] void work_begins(const Collective& c, const Node& node) noexcept;
[[gnu::cold]] void work_ends(const Node& node) noexcept;

}  // namespace mpc::nbc::tracing
