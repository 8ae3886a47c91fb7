#pragma once
// calibrate: measures what copies cost on this machine.
//
// Role:      the numbers of `mpcinfo calibrate`.
// Users:     tools/mpcinfo/calibrate_command.cpp.
// Threads:   starts threads of its own, bound to cores; the caller waits.
// See also:  nbc/model/machine_file.h, docs/overlap-model.md.

#include "base/result.h"
#include "nbc/model/parameters.h"
#include "topology/machine.h"

namespace mpc::tools {

// Requires: a real machine. Cost: less than two seconds of all cores.
// Errors: kSystem.
Result<nbc::Measured> calibrate(const topo::Machine& machine);

}  // namespace mpc::tools
