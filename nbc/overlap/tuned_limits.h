#pragma once
// Tuned limits: what `mpcinfo tune` has measured on this machine, put to use.
//
// Role:      finds and checks the file, gives its limits to nbc/schedule/limits.h before the ranks start.
// Users:     a hook at the start of a job; mpi/coll/info.cpp, which shows what a job would do.
// Threads:   one, before the ranks start.
// See also:  nbc/model/tuned_file.h, docs/collectives.md, section "Limits".

#include <string>

#include "nbc/model/tuned.h"
#include "topology/machine.h"

namespace mpc::nbc {

// What identifies this machine. Requires: machine.is_real().
TunedMachine tuned_machine(const topo::Machine& machine);

// Where the limits come from.
struct TunedUse {
  std::string path;  // that was looked at; "": none
  std::string made;  // when it was measured; "": there is no file, or it is not used
};
// Of a described machine nothing is used. A file that is damaged or of another machine is not used, and a warning
// names it.
TunedUse load_tuned_limits(const topo::Machine& machine);

}  // namespace mpc::nbc
