#pragma once
// Running nodes: executes what is ready, here or where the table says, until nothing is ready.
//
// Role:      the loop of the engine. It starts messages; their completions come back here and
//            make further nodes ready.
// Users:     nbc/engine.
// Threads:   any execution, each with its RunContext.
// See also:  docs/completion.md (picture), nbc/engine/executor.h (who runs a node).

#include "nbc/engine/run_context.h"

namespace mpc::nbc {

void run_all(RunContext& run);

// Runs ready nodes, unless this execution already does so further up its stack.
inline void run_ready(RunContext& run) {
  if (!run.is_running) run_all(run);
}

// Starts the collective with the nodes that have no predecessors. Caller: the owning rank.
void start_nodes(Collective& c);

// Runs the nodes that are kept for this rank, except user code that only its calls may run.
// Caller: the rank or its progress thread. Returns true if there were any.
bool run_kept_nodes(job::Rank& rank);

}  // namespace mpc::nbc
