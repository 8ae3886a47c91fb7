#pragma once
// ModelSetting: the input of all predictions that mpcinfo makes.
//
// Role:      finds machine, costs and operation by their names.
// Users:     the commands of tools/mpcinfo.
// Threads:   one.
// See also:  docs/overlap-model.md, section "Where the numbers come from".

#include <memory>
#include <string>

#include "base/result.h"
#include "nbc/model/calibrated.h"
#include "nbc/model/parameters.h"
#include "tools/mpcinfo/model_command.h"
#include "tools/mpcinfo/operation.h"
#include "topology/machine.h"

namespace mpc::tools {

struct ModelSetting {
  std::unique_ptr<topo::Machine> machine;
  nbc::Parameters parameters;
  Operation operation;
  int hosts = 1;                                       // like `machine`
  std::string name;                                    // "knl64", "16*knl64"
  int cores() const { return machine->core_count(); }  // of one host
};

// `needs_tree`: only operations that go through a tree. Errors: kArg, kNotFound, kSystem.
Result<ModelSetting> find_setting(const ModelOptions& options, bool needs_tree);
// The same for models in which each rank has a core. Errors: also kArg: too few cores.
Result<ModelSetting> find_overlap_setting(const ModelOptions& options);
// `ranks` of all `cores` have a rank, the others communicate; the same on each host.
nbc::Situation situation_of(const Operation& operation, int cores, int ranks,
                            int hosts = 1);
// Prints the error to stderr. Returns: the exit status.
int complain(const Error& error);

}  // namespace mpc::tools
