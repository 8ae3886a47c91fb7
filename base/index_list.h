#pragma once
// Lists of numbers as people write them: "0-3,8,10-11".
//
// Role:      the one parser for lists of cores and workers.
// Users:     runtime/job (progress.policy=list:...), tools/mpcrun (--cores, --placement).
// Threads:   pure functions.
// See also:  docs/mpcrun.md.

#include <string_view>
#include <vector>

#include "base/result.h"

namespace mpc {

// Numbers and ranges in the order in which they are written; a number may occur twice.
// Errors: kArg, also for an empty list and for ranges that no machine has.
Result<std::vector<int>> parse_index_list(std::string_view text);

}  // namespace mpc
