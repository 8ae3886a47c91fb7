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

// Caller: on a real machine. Cost: less than two seconds of all cores.
// Errors: kSystem.
Result<nbc::Measured> calibrate(const topo::Machine& machine);
// The same, and the runtime's own costs: the whole content of a machine's file. Once in a process.
// Errors: kSystem.
Result<nbc::Parameters> calibrated_parameters(const topo::Machine& machine);
// The time from a call that wakes a thread, which has slept for a while, until it runs. Cost: 0.1
// s.
double measure_wake_us();

}  // namespace mpc::tools
