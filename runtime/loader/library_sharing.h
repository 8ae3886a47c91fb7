#pragma once
// Library sharing: decides of which libraries each rank
// has its own copy, and which all ranks share.
//
// Role:      the one rule, for libraries that a program needs and for those that it opens.
// Users:     runtime/loader.
// Threads:   any.
// See also:  docs/limits.md (what ranks share).

#include <mutex>
#include <string>
#include <vector>

namespace mpc::loader {

// File names; loader.private_libraries and loader.shared_libraries.
struct SharingRules {
  std::vector<std::string> private_names;
  std::vector<std::string> shared_names;
};

// As the settings say.
const SharingRules& sharing_rules();

// Most libraries have state that they do not expect others to see, or are not made for
// threads: a rank has its own, as a process would. What libmpi_abi itself uses is shared.
bool must_be_private(const std::string& file_name, const SharingRules& rules);

// Has the dynamic linker loaded it for the process? (A path or a name; masters have none.)
bool is_loaded(const std::string& name);

// Held by ranks around each call of the process's dlopen(). Constructors of libraries run under
// dlopen()'s own lock, and may open libraries as well.
std::recursive_mutex& dynamic_linker_mutex();

}  // namespace mpc::loader
