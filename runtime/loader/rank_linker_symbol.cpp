// RankLinker: what a rank looks up by dlsym().
#include <dlfcn.h>

#include <algorithm>

#include <fmt/format.h>

#include "runtime/loader/image.h"
#include "runtime/loader/rank_linker.h"

namespace mpc::loader {

Result<void*> RankLinker::symbol(void* handle, const std::string& name,
                                 const std::string& version, const void* caller) {
  std::lock_guard lock(load_mutex_);
  LoadedModule* user = module_at(caller);
  if (user == nullptr) user = modules_.front();
  Modules where;
  const LoadedModule* asked = user;
  if (handle == RTLD_DEFAULT) {
    where = global_scope();
    for (LoadedModule* m : user->root->search_list)
      if (!contains(where, m)) where.push_back(m);
  } else if (handle == RTLD_NEXT) {
    where = user->plugin != nullptr ? user->root->search_list : global_scope();
    where.erase(where.begin(), std::find(where.begin(), where.end(), user) + 1);
  } else if (LoadedModule* module = module_of_handle(handle)) {
    where = module == modules_.front() ? global_scope() : module->search_list;
    asked = module;
  } else {
    void* found = version.empty() ? ::dlsym(handle, name.c_str())
                                  : ::dlvsym(handle, name.c_str(), version.c_str());
    if (found == nullptr)
      if (const char* text = ::dlerror()) return Error{Errc::kNotFound, text};
    return replacement_of(name, found);
  }
  Definition found;
  const bool is_whole = handle == RTLD_DEFAULT || handle == &modules_.front()->map;
  if (is_whole)
    if (void* variable = Image::find_variable(instance_, name.c_str())) return variable;
  found = find_private(where, name, version);
  if (!found.is_found()) {
    const bool is_own =
        handle != RTLD_DEFAULT && handle != RTLD_NEXT && asked->plugin != nullptr;
    found.shared = is_own ? find_needed_shared(where, name, version)
                          : find_shared(where, name, version);
  }
  if (found.is_found()) return address_of(found);
  return Error{Errc::kNotFound,
               fmt::format("{}: undefined symbol: {}{}{}", asked->module->file->path(),
                           name, version.empty() ? "" : ", version ", version)};
}

}  // namespace mpc::loader
