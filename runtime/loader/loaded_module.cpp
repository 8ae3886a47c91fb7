#include "runtime/loader/loaded_module.h"

#include <algorithm>

namespace mpc::loader {

bool contains(const LoadedModules& modules, const LoadedModule* module) {
  return std::find(modules.begin(), modules.end(), module) != modules.end();
}

LoadedModules search_list_of(LoadedModule* first) {
  LoadedModules list = {first};
  for (size_t i = 0; i < list.size(); ++i)
    for (LoadedModule* need : list[i]->needs)
      if (!contains(list, need)) list.push_back(need);
  return list;
}

}  // namespace mpc::loader
