#pragma once
// Unwrap: the program behind what others put before it, where that is plain to see.
//
// Role:      "env NAME=VALUE ./prog" and "sh -c 'NAME=VALUE ./prog'" are ranks of ./prog with that
//            environment; a shell or a tool itself cannot be a rank.
// Users:     tools/mpcrun/parsed.cpp, tools/mpcrun/scripts.cpp.
// Threads:   any.
// See also:  docs/mpcrun.md, section "Scripts and other programs".

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/job_spec.h"

namespace mpc::tools {

// sh, bash and their kin, by its name.
bool is_shell(const std::string& program);
// Along PATH, as the shell does it; "": it is nowhere.
std::string find_in_path(const std::string& name);

// What cannot be seen through (another shell command, an option of env) stays as it is: see
// scripts.h, or it is refused when it is loaded, with what to write instead.
void unwrap(job::AppSpec& app);

// The last one that is given counts.
void set_variable(std::vector<std::pair<std::string, std::string>>& environment,
                  const std::string& name, const std::string& value);

// The words of a shell command that is one plain command: without expansions, redirections,
// lists. nullopt: it is more than that.
std::optional<std::vector<std::string>> plain_command(const std::string& text);

}  // namespace mpc::tools
