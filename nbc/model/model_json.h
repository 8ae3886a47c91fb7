#pragma once
// ModelJson: what nbc/model keeps in files, as JSON text and back.
//
// Role:      the fields of a machine's costs and of what `mpcinfo tune` has found out; all JSON of the layers.
// Users:     nbc/model/machine_file.cpp, nbc/model/tuned_file.cpp, tools/mpcinfo.
// Threads:   any.
// See also:  docs/overlap-model.md (the fields).

#include <string>

#include "base/result.h"
#include "nbc/model/parameters.h"
#include "nbc/model/tuned.h"

namespace mpc::nbc {

std::string to_json(const Parameters& parameters);
// Errors: kArg: not JSON, a field missing or of the wrong kind, or problem_of().
Result<Parameters> parameters_from_json(const std::string& text);

std::string to_json(const Tuned& tuned);
// Errors: kArg: not JSON, a field missing or of the wrong kind, a limit that is not there.
Result<Tuned> tuned_from_json(const std::string& text);

}  // namespace mpc::nbc
