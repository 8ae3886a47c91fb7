#pragma once
// Nearest: guesses which name a user meant who typed a name that does not exist.
//
// Role:      completes messages about unknown settings, variables and commands.
// Users:     base/settings.cpp, runtime/job, tools/mpcinfo.
// Threads:   pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace mpc {

// ", did you mean 'settings'?" with the nearest of these names; empty if none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace mpc
