// RankLinker: ends and unmaps what a rank closes by dlclose(), or leaves open at its end.
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>

#include <fmt/format.h>

#include "runtime/loader/debugger_view.h"
#include "runtime/loader/hook_calls.h"
#include "runtime/loader/image.h"
#include "runtime/loader/plugin.h"
#include "runtime/loader/plugin_space.h"
#include "runtime/loader/rank_linker.h"

namespace mpc::loader {
namespace {

std::string taken_error() {
  const char* text = ::dlerror();
  return text != nullptr ? text : "unknown error of the dynamic linker";
}

}  // namespace

Result<> RankLinker::close(void* handle) {
  std::lock_guard lock(load_mutex_);
  LoadedModule* module = module_of_handle(handle);
  if (module == nullptr) return close_shared(handle);
  if (module->plugin == nullptr) return {};  // lives as long as the program
  if (module->opens == 0)
    return Error{Errc::kArg, fmt::format("{}: shared object not open",
                                         module->module->file->path())};
  if (--module->opens == 0) collect();
  return {};
}

Result<> RankLinker::close_shared(void* handle) {
  const auto open = shared_handles_.find(handle);
  if (open == shared_handles_.end())
    return Error{Errc::kArg, "dlclose: this rank has no such handle open"};
  if (--open->second == 0) shared_handles_.erase(open);
  if (::dlclose(handle) != 0) return Error{Errc::kImage, taken_error()};
  return {};
}

RankLinker::Modules RankLinker::unreachable() {
  Modules used;
  for (LoadedModule* m : modules_)
    if (m->is_pinned || m->opens > 0 ||
        (m->module->file->dynamic_value(DT_FLAGS_1) & DF_1_NODELETE) != 0)
      used.push_back(m);
  for (size_t i = 0; i < used.size(); ++i)
    for (const Modules* users : {&used[i]->needs, &used[i]->uses})
      for (LoadedModule* m : *users)
        if (!contains(used, m)) used.push_back(m);
  Modules rest;
  for (LoadedModule* m : modules_)
    if (!contains(used, m)) rest.push_back(m);
  std::sort(rest.begin(), rest.end(), [](const LoadedModule* a, const LoadedModule* b) {
    return a->start_order > b->start_order;
  });
  return rest;
}

// A destructor may close other libraries, so this repeats.
void RankLinker::collect() {
  must_collect_again_ = true;
  if (is_collecting_) return;
  is_collecting_ = true;
  while (must_collect_again_) {
    must_collect_again_ = false;
    const Modules gone = unreachable();
    for (LoadedModule* m : gone)
      m->is_pinned = true;  // until their destructors have run
    for (LoadedModule* m : gone) end(*m);
    for (LoadedModule* m : gone) m->is_pinned = false;
    // Not those that were opened again meanwhile.
    for (LoadedModule* m : unreachable()) {
      if (!contains(gone, m)) continue;
      m->plugin->was_unloaded.store(true, std::memory_order_relaxed);
      remove(m);
    }
  }
  is_collecting_ = false;
}

void RankLinker::end(LoadedModule& module) {
  if (!module.has_started || module.plugin == nullptr) return;
  module.has_started = false;  // first: a destructor may call exit()
  call_end_hooks(module.module->hooks, module.base);
  instance_.finalize_range(module.base, module.base + module.module->span_bytes);
}

void RankLinker::remove(LoadedModule* module) {
  std::lock_guard lock(list_mutex_);
  ++unload_count_;
  DebuggerView::remove_plugin(module->place);
  std::erase(modules_, module);
  std::erase(opened_globally_, module);
  renumber();
  for (LoadedModule* m : modules_)
    if (m->root == module) m->root = m;
  if (module->stubs != nullptr) ::munmap(module->stubs, module->stubs_bytes);
  PluginSpace::instance().release(module->base, module->module->span_bytes);
  std::erase_if(owned_, [&](const auto& owned) { return owned.get() == module; });
}

void RankLinker::finish() {
  std::lock_guard lock(load_mutex_);
  Modules all = modules_;
  std::sort(all.begin(), all.end(), [](const LoadedModule* a, const LoadedModule* b) {
    return a->start_order > b->start_order;
  });
  for (LoadedModule* m : all) end(*m);
}

}  // namespace mpc::loader
