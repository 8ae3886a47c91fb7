#pragma once
// MachineFile: a machine's measured parameters, kept as JSON.
//
// Role:      what `mpcinfo calibrate` writes and the runtime reads. All JSON of nbc/model is in its source.
// Users:     tools/mpcinfo, nbc/overlap.
// Threads:   any.
// See also:  docs/overlap-model.md (the fields).

#include <string>

#include "base/result.h"
#include "nbc/model/parameters.h"

namespace mpc::nbc {

std::string to_json(const Parameters& parameters);
// Errors: kArg: not JSON, a field missing or of the wrong kind, or problem_of().
Result<Parameters> from_json(const std::string& text);

// Errors: kNotFound, kSystem; those of from_json(), with the path.
Result<Parameters> read_parameters(const std::string& path);
// Errors: kSystem. Creates the folder.
Result<> write_parameters(const Parameters& parameters, const std::string& path);

// $XDG_CACHE_HOME/mpc/machine-FINGERPRINT.json, in ~/.cache without that variable; "" without
// either. The fingerprint is topo::fingerprint().
std::string parameters_path(const std::string& fingerprint);

}  // namespace mpc::nbc
