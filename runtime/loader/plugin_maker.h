#pragma once
// Plugin maker: the plugins of the process, found by their files and prepared at the first request.
//
// Role:      loads the master, creates the image of its data, reads its relocations.
// Users:     runtime/loader (rank_linker_open.cpp).
// Threads:   any, serialised inside.
// See also:  runtime/loader/plugin.h (the result).

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loader/plugin.h"

namespace mpc::loader {

// Prepared at the first call for this file. `inherited`: RPATHs of its loaders, expanded.
// Errors: kNotFound, kPermission, kImage, kNoMem, kSystem; with texts as dlerror() shows them.
Result<Plugin*> get_plugin(const std::string& path,
                           const std::vector<std::string>& inherited);
// The plugin, if this file has been prepared already in its present version. Null: it has not.
Plugin* find_plugin(const std::string& path);

}  // namespace mpc::loader
