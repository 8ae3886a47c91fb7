#pragma once
// mpcinfo profile: shows the stored profile of a job, as a text or as a page.
//
// Role:      for users, after `mpcrun --profile-file FILE`.
// Users:     tools/mpcinfo/command_line.cpp.
// Threads:   one.
// See also:  docs/profile.md.

#include <string>

namespace mpc::tools {

struct ProfileOptions {
  std::string file;
  std::string html;  // path, "": the text
};

// Returns: exit status, 2 for bad input.
int profile_command(const ProfileOptions& options);

}  // namespace mpc::tools
