#pragma once
// TunedFile: what `mpcinfo tune` has found out about one machine, stored as JSON.
//
// Role:      where the file lies, and whole files read and written.
// Users:     tools/mpcinfo writes it; nbc/overlap/tuned_limits.cpp reads it at the start of a job.
// Threads:   any.
// See also:  nbc/model/model_json.h (the text), docs/collectives.md, section "Limits".

#include <string>

#include "base/result.h"
#include "nbc/model/tuned.h"

namespace mpc::nbc {

// Errors: kNotFound; those of tuned_from_json(), with the path.
Result<Tuned> read_tuned(const std::string& path);
// Errors: kSystem. Readers meet the old file or the new one.
Result<> write_tuned(const Tuned& tuned, const std::string& path);
// Beside the machine's costs (nbc/model/machine_file.h): .../mpc/tuned-NUMBER.json; "" without a folder.
std::string tuned_path(const TunedMachine& machine);

}  // namespace mpc::nbc
