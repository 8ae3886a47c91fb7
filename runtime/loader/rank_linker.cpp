#include "runtime/loader/rank_linker.h"

#include <sys/mman.h>

#include "runtime/loader/blueprint.h"
#include "runtime/loader/debugger_view.h"
#include "runtime/loader/image.h"
#include "runtime/loader/plugin.h"
#include "runtime/loader/plugin_space.h"
#include "runtime/loader/plugin_tls.h"

namespace mpc::loader {

RankLinker::RankLinker(ProgramInstance& instance) : instance_(instance) {
  add_program();
}

RankLinker::~RankLinker() {
  for (const auto& module : owned_)
    if (module->plugin != nullptr) {
      DebuggerView::remove_plugin(module->place);
      if (module->stubs != nullptr) ::munmap(module->stubs, module->stubs_bytes);
      PluginSpace::instance().release(module->base, module->module->span_bytes);
    }
}

void RankLinker::add_program() {
  const std::vector<Module>& modules = instance_.image().blueprint().modules;
  for (const Module& m : modules) {
    auto loaded = std::make_unique<LoadedModule>();
    loaded->module = &m;
    loaded->base = instance_.base() + m.bundle_offset;
    loaded->is_global = loaded->is_pinned = loaded->has_started = true;
    append(std::move(loaded));
  }
  program_modules_ = modules.size();
  for (size_t i = 0; i < modules.size(); ++i)
    for (const size_t need : modules[i].needs)
      modules_[i]->needs.push_back(modules_[need]);
  for (LoadedModule* m : modules_) {
    m->search_list = search_list_of(m);
    m->root = modules_.front();
  }
}

void RankLinker::append(std::unique_ptr<LoadedModule> module) {
  const ElfFile& file = *module->module->file;
  module->map.l_addr = reinterpret_cast<ElfW(Addr)>(module->base);
  module->map.l_name = const_cast<char*>(file.path().c_str());
  module->map.l_ld =
      reinterpret_cast<ElfW(Dyn)*>(module->base + file.segment(PT_DYNAMIC)->p_vaddr);
  std::lock_guard lock(list_mutex_);
  if (module->plugin != nullptr) ++load_count_;
  modules_.push_back(module.get());
  owned_.push_back(std::move(module));
  renumber();
}

// Updates positions, and the chain that programs walk from a handle.
void RankLinker::renumber() {
  for (size_t i = 0; i < modules_.size(); ++i) {
    LoadedModule& m = *modules_[i];
    m.position = i;
    m.map.l_prev = i > 0 ? &modules_[i - 1]->map : nullptr;
    m.map.l_next = i + 1 < modules_.size() ? &modules_[i + 1]->map : nullptr;
  }
}

// --- queries ---------------------------------------------------------------------------------

LoadedModule* RankLinker::module_of_handle(const void* handle) {
  std::lock_guard lock(list_mutex_);
  for (LoadedModule* m : modules_)
    if (handle == &m->map) return m;
  return nullptr;
}

LoadedModule* RankLinker::module_at(const void* address) {
  const auto* at = static_cast<const char*>(address);
  std::lock_guard lock(list_mutex_);
  for (LoadedModule* m : modules_)
    if (at >= m->base && at < m->base + m->module->span_bytes) return m;
  return nullptr;
}

std::vector<LoadedModule*> RankLinker::modules() {
  std::lock_guard lock(list_mutex_);
  return modules_;
}

std::pair<char*, uint64_t> RankLinker::instance_of(const Plugin& plugin) {
  std::lock_guard lock(list_mutex_);
  for (const LoadedModule* m : modules_)
    if (m->plugin == &plugin) return {m->base, m->generation};
  return {nullptr, 0};
}

LoadedModule* RankLinker::find_by_name(const std::string& name) const {
  for (LoadedModule* m : modules_)
    if (m->module->name == name || m->module->file->soname() == name) return m;
  return nullptr;
}

LoadedModule* RankLinker::find_by_path(const std::string& path) const {
  for (LoadedModule* m : modules_)
    if (m->module->file->path() == path) return m;
  return nullptr;
}

RankLinker::Modules RankLinker::global_scope() const {
  Modules scope(modules_.begin(),
                modules_.begin() + static_cast<ptrdiff_t>(program_modules_));
  scope.insert(scope.end(), opened_globally_.begin(), opened_globally_.end());
  return scope;
}

void RankLinker::pin(const void* address) {
  std::lock_guard lock(load_mutex_);
  if (LoadedModule* m = module_at(address)) m->is_pinned = true;
}

void RankLinker::enter_thread() {
  std::lock_guard lock(list_mutex_);
  for (const LoadedModule* m : modules_)
    if (m->plugin != nullptr && m->plugin->has_static_tls && m->module->tls_module != 0)
      thread_local_address(*m->plugin, m->base, m->generation, 0);
}

void* thread_locals_of(const LoadedModule& m) {
  if (m.module->tls_module == 0) return nullptr;
  if (m.plugin != nullptr)
    return thread_local_address(*m.plugin, m.base, m.generation, 0);
  return thread_block(m.module->tls_module);
}

}  // namespace mpc::loader
