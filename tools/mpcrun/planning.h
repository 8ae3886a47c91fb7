#pragma once
// Planning: the steps of reading options that need all programs of the job.
//
// Role:      how many ranks there are, whether they are processes of their own, on which hosts they
//            run; refuses what does not fit together.
// Users:     tools/mpcrun/options.cpp.
// Threads:   none.
// See also:  tools/mpcrun/hosts.h, tools/mpcrun/hosted.h.

#include "base/result.h"
#include "tools/mpcrun/options.h"
#include "tools/mpcrun/parsed.h"
#include "tools/mpcrun/words.h"

namespace mpc::tools {

// Caller: once the programs and the job's own options are filled. Errors: kArg.
Result<> finish(Parsed& of_job, const Words& words, Command& command);

}  // namespace mpc::tools
