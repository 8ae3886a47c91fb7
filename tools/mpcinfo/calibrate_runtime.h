#pragma once
// calibrate_runtime: measures what the runtime itself costs: a node of a schedule, a message.
//
// Role:      those numbers of `mpcinfo calibrate` that plain copies cannot show.
// Users:     tools/mpcinfo/calibrate_command.cpp.
// Threads:   one; from its first call on the process is an MPI program of one rank.
// See also:  tools/mpcinfo/calibrate.h, docs/overlap-model.md.

namespace mpc::tools {

struct RuntimeCosts {
  double node_us = 0;     // starting and completing a node
  double message_us = 0;  // matching, without the two nodes and the copy
  double call_us = 0;  // start and wait of a non-blocking collective, without its node
};

// Caller: once in a process. Cost: some 10 ms.
RuntimeCosts calibrate_runtime();

}  // namespace mpc::tools
