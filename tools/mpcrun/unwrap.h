#pragma once
// Unwrap: the program behind env or a shell, where that is easy to see.
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

// True for sh, bash and their kin, by the name.
bool is_shell(const std::string& program);
// Searches PATH, as the shell does; "": not found.
std::string find_in_path(const std::string& name);

// The program as it is found from here if it runs in that folder ("": here).
std::string seen_from(const std::string& folder, const std::string& program);

// Other forms (another shell command, an option of env) stay as they are: they are treated in
// scripts.h, or refused when they are loaded, with what to write instead.
void unwrap(job::AppSpec& app);

// The last value that is given counts.
void set_variable(std::vector<std::pair<std::string, std::string>>& environment,
                  const std::string& name, const std::string& value);

// The words of a shell command that is one plain command: without expansions, redirections,
// lists. nullopt: it is more than that.
std::optional<std::vector<std::string>> plain_command(const std::string& text);

}  // namespace mpc::tools
