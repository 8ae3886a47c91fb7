#pragma once
// ProfileFile: reads a file that `mpcrun --profile-file` has written.
//
// Role:      restores the numbers, for the text and for the page.
// Users:     tools/mpcinfo (profile_command.cpp, trace_command.cpp).
// Threads:   one.
// See also:  docs/profile.md, runtime/profile/profile.h.

#include <string>

#include "base/result.h"
#include "runtime/profile/profile.h"
#include "tools/mpcinfo/trace_json.h"

namespace mpc::tools {

struct ProfileFile {
  profile::Profile numbers;
  Json json;  // as in the file
};

// Errors: kNotFound, kArg with the reason.
Result<ProfileFile> read_profile(const std::string& path);

}  // namespace mpc::tools
