#pragma once
// MachineFile: a machine's measured parameters, stored as JSON.
//
// Role:      what `mpcinfo calibrate` writes and the runtime reads.
// Users:     tools/mpcinfo, nbc/overlap.
// Threads:   any.
// See also:  docs/overlap-model.md (the fields), nbc/model/model_json.h.

#include <string>

#include "base/result.h"
#include "nbc/model/parameters.h"

namespace mpc::nbc {

// Errors: kNotFound, kSystem; those of parameters_from_json(), with the path.
Result<Parameters> read_parameters(const std::string& path);
// Errors: kSystem. Creates the folder.
Result<> write_parameters(const Parameters& parameters, const std::string& path);

// $XDG_CACHE_HOME/mpc/machine-FINGERPRINT.json, in ~/.cache without that variable; "" if both are
// missing. The fingerprint is topo::fingerprint().
std::string parameters_path(const std::string& fingerprint);

}  // namespace mpc::nbc
