// RankLinker: finds, maps, binds and starts what a rank opens by dlopen().
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "runtime/loader/debugger_view.h"
#include "runtime/loader/hook_calls.h"
#include "runtime/loader/image.h"
#include "runtime/loader/late_binding.h"
#include "runtime/loader/library_search.h"
#include "runtime/loader/library_sharing.h"
#include "runtime/loader/module_layout.h"
#include "runtime/loader/plugin_maker.h"
#include "runtime/loader/plugin_space.h"
#include "runtime/loader/plugin_tls.h"
#include "runtime/loader/rank_linker.h"

namespace mpc::loader {
namespace {

using Modules = LoadedModules;

uint64_t next_generation() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string full_path(const std::string& path) {
  char* full = ::realpath(path.c_str(), nullptr);
  std::string result = full != nullptr ? full : path;
  std::free(full);
  return result;
}

// A link has another name than the file that it leads to.
bool is_shared(const std::string& name, const std::string& path) {
  return !must_be_private(file_name(path), sharing_rules()) ||
         !must_be_private(file_name(name), sharing_rules()) || is_loaded(path);
}

std::atomic<LibraryNeeded> g_library_needed{nullptr};

void say_what_is_needed(ProgramInstance& instance, const LoadedModule& module) {
  // pairs with set_library_needed
  const LibraryNeeded upcall = g_library_needed.load(std::memory_order_acquire);
  if (upcall == nullptr) return;
  for (const std::string& name : module.module->file->needed()) upcall(instance, name);
}

// The modules that a module needs start before it.
void add_in_start_order(LoadedModule* module, Modules& order) {
  if (contains(order, module) || module->has_started) return;
  module->has_started = true;
  for (auto it = module->needs.rbegin(); it != module->needs.rend(); ++it)
    add_in_start_order(*it, order);
  order.push_back(module);
}

}  // namespace

void set_library_needed(LibraryNeeded upcall) noexcept {
  g_library_needed.store(upcall, std::memory_order_release);
}

Result<void*> RankLinker::open(const std::string& name, int flags, const void* caller) {
  std::lock_guard lock(load_mutex_);
  if ((flags & (RTLD_LAZY | RTLD_NOW)) == 0)
    return Error{Errc::kArg,
                 fmt::format("{}: invalid mode for dlopen(): Invalid argument", name)};
  LoadedModule* found = nullptr;
  if (name.empty()) {
    found = modules_.front();
  } else if (name.find('/') == std::string::npos) {
    found = find_by_name(name);
    if (found == nullptr && !must_be_private(name, sharing_rules()) && is_loaded(name))
      return open_shared(name, flags);
  }
  if (found == nullptr) {
    const LoadedModule* user = module_at(caller);
    const auto path = locate(name, user != nullptr ? user : modules_.front());
    if (!path) return path.error();
    found = find_by_path(*path);
    if (found == nullptr && find_plugin(*path) == nullptr && is_shared(name, *path))
      return open_shared(*path, flags);
    if (found == nullptr && (flags & RTLD_NOLOAD) != 0) return nullptr;
    if (found == nullptr) {
      auto loaded = load(*path, flags, user);
      if (!loaded) return loaded.error();
      found = *loaded;
    }
  }
  ++found->opens;
  if ((flags & RTLD_NODELETE) != 0) found->is_pinned = true;
  if ((flags & RTLD_GLOBAL) != 0) make_global(*found);
  start(*found);
  return static_cast<void*>(&found->map);
}

Result<std::string> RankLinker::locate(const std::string& name,
                                       const LoadedModule* user) const {
  std::string expanded = name;
  if (name.find('$') != std::string::npos)
    if (auto parts = expand_path_list(name, user->module->file->directory());
        parts.size() == 1)
      expanded = parts[0];
  if (expanded.find('/') != std::string::npos) {
    if (::access(expanded.c_str(), F_OK) == 0) return full_path(expanded);
  } else {
    std::vector<std::string> inherited = user->inherited;
    const ElfFile& program = *modules_.front()->module->file;
    for (std::string& directory :
         expand_path_list(program.inherited_path(), program.directory()))
      inherited.push_back(std::move(directory));
    const std::string path =
        find_library(expanded, {user->module->file.get(), std::move(inherited)});
    if (!path.empty()) return full_path(path);
    errno = ENOENT;
  }
  return Error{Errc::kNotFound, fmt::format("{}: cannot open shared object file: {}",
                                            expanded, std::strerror(errno))};
}

// One instance for all ranks: the dynamic linker's, with a count of our own, so that a rank cannot
// close what others have open.
Result<void*> RankLinker::open_shared(const std::string& name, int flags) {
  std::lock_guard lock(dynamic_linker_mutex());
  void* handle = ::dlopen(name.c_str(), flags);
  if (handle == nullptr) {
    const char* text = ::dlerror();
    if (text == nullptr) return nullptr;  // RTLD_NOLOAD
    return Error{Errc::kImage, text};
  }
  ++shared_handles_[handle];
  return handle;
}

Result<LoadedModule*> RankLinker::load(const std::string& path, int flags,
                                       const LoadedModule* user) {
  std::vector<std::string> inherited;
  for (const LoadedModule* loader :
       {user, static_cast<const LoadedModule*>(modules_.front())}) {
    if (loader == nullptr) continue;
    const ElfFile& file = *loader->module->file;
    for (std::string& directory :
         expand_path_list(file.inherited_path(), file.directory()))
      inherited.push_back(std::move(directory));
  }
  Modules fresh;
  auto root = add_plugin(path, nullptr, std::move(inherited));
  if (!root) return root.error();
  fresh.push_back(*root);
  Result<> done;
  for (size_t i = 0; i < fresh.size() && done.ok(); ++i)
    done = add_needs(*fresh[i], fresh);
  for (LoadedModule* m : fresh) m->search_list = search_list_of(m);
  const bool binds_now = (flags & RTLD_NOW) != 0 || ::getenv("LD_BIND_NOW") != nullptr;
  for (auto it = fresh.rbegin(); it != fresh.rend() && done.ok(); ++it)
    done = relocate(**it, (flags & RTLD_DEEPBIND) != 0, binds_now);
  if (!done.ok()) {
    abandon(fresh);
    return done.error();
  }
  DebuggerView::announce();
  return *root;
}

Result<LoadedModule*> RankLinker::add_plugin(const std::string& path,
                                             LoadedModule* root,
                                             std::vector<std::string> inherited) {
  auto plugin = get_plugin(path, inherited);
  if (!plugin) return plugin.error();
  const Module& m = (*plugin)->module;
  if ((*plugin)->needs_executable_stack && !instance_.image().needs_executable_stack())
    return Error{
        Errc::kImage,
        fmt::format("{}: needs an executable stack (nested functions whose address "
                    "is taken), which ranks have if their program was linked with "
                    "-z execstack",
                    path)};
  if ((*plugin)->has_static_tls && m.file->segment(PT_TLS) != nullptr &&
      instance_.has_had_threads() && (*plugin)->has_thread_pointers)
    return Error{
        Errc::kImage,
        fmt::format("{}: its thread_locals hold addresses and lie in static TLS, which "
                    "threads that exist already do not get; open it before the first "
                    "thread starts, or compile it with -ftls-model=global-dynamic",
                    path)};
  auto& space = PluginSpace::instance();
  char* base = space.allocate(m.span_bytes, m.file->alignment());
  if (base == nullptr || !map_module(m, base, (*plugin)->image_fd)) {
    const int error = errno;
    if (base != nullptr) space.release(base, m.span_bytes);
    return Error{
        Errc::kNoMem,
        fmt::format("{}: cannot map a copy for the rank: {}; raise vm.max_map_count "
                    "(sysctl) or the limit of virtual memory (ulimit -v)",
                    path, std::strerror(error))};
  }
  auto loaded = std::make_unique<LoadedModule>();
  LoadedModule* added = loaded.get();
  loaded->module = &m;
  loaded->plugin = *plugin;
  loaded->base = base;
  loaded->place = {&instance_, &m, base};
  loaded->generation = next_generation();
  loaded->root = root != nullptr ? root : added;
  loaded->inherited = std::move(inherited);
  append(std::move(loaded));
  space.set(base, m.span_bytes, &added->place);
  DebuggerView::add_plugin(added->place);
  return added;
}

Result<> RankLinker::add_needs(LoadedModule& module, Modules& fresh) {
  const ElfFile& file = *module.module->file;
  std::vector<std::string> inherited =
      expand_path_list(file.inherited_path(), file.directory());
  inherited.insert(inherited.end(), module.inherited.begin(), module.inherited.end());
  for (const Need& need : module.plugin->needs) {
    LoadedModule* known = find_by_name(need.name);
    if (known == nullptr && need.path.empty())
      return Error{Errc::kNotFound,
                   fmt::format("{}: cannot open shared object file: {}", need.name,
                               std::strerror(ENOENT))};
    if (known == nullptr) known = find_by_path(full_path(need.path));
    if (known == nullptr) {
      auto added = add_plugin(need.path, module.root, inherited);
      if (!added) return added.error();
      known = *added;
      fresh.push_back(known);
    }
    module.needs.push_back(known);
  }
  return {};
}

void RankLinker::abandon(const Modules& fresh) {
  for (LoadedModule* m : fresh) remove(m);
}

LookupScope RankLinker::scope_for(const LoadedModule& user, bool is_deep) const {
  return {instance_, modules_, {}, user.root->search_list, is_deep};
}

Result<> RankLinker::relocate(LoadedModule& module, bool is_deep, bool binds_now) {
  LookupScope scope = scope_for(module, is_deep);
  const Modules global = global_scope();
  scope.global = global;
  const auto binding = bind(module, scope, binds_now);
  if (!binding) return binding.error();
  const auto put = [&](size_t vaddr, uint64_t value) {
    std::memcpy(module.base + vaddr, &value, sizeof value);
  };
  for (const size_t vaddr : module.plugin->relative) {
    uint64_t offset;
    std::memcpy(&offset, module.base + vaddr, sizeof offset);
    put(vaddr, reinterpret_cast<uint64_t>(module.base) + offset);
  }
  for (const BoundWord& word : (*binding)->words)
    put(word.vaddr,
        word.owner == kNoOwner
            ? word.value
            : reinterpret_cast<uint64_t>(modules_[word.owner]->base) + word.value);
  for (const uint32_t owner : (*binding)->owners)
    if (modules_[owner] != &module) module.uses.push_back(modules_[owner]);
  MPC_TRY(make_stubs(module, **binding));
  if (module.plugin->has_static_tls && module.module->tls_module != 0)
    thread_local_address(*module.plugin, module.base, module.generation, 0);
  return {};
}

Result<> RankLinker::make_stubs(LoadedModule& module, const Binding& binding) {
  if (binding.missing.empty()) return {};
  for (const MissingFunction& m : binding.missing)
    module.late.push_back({&module, m.index, m.vaddr});
  module.stubs_bytes = page_ceil(module.late.size() * kStubBytes);
  module.stubs = make_stub_pages(module.late.data(), module.late.size());
  if (module.stubs == nullptr)
    return Error{Errc::kNoMem,
                 fmt::format("{}: cannot map stubs: {}", module.module->file->path(),
                             std::strerror(errno))};
  for (size_t i = 0; i < module.late.size(); ++i) {
    const char* stub = module.stubs + i * kStubBytes;
    std::memcpy(module.base + module.late[i].vaddr, &stub, sizeof stub);
  }
  return {};
}

void* RankLinker::bind_late(const LateSymbol& late) {
  std::lock_guard lock(load_mutex_);
  LoadedModule& user = *late.user;
  const ElfFile& file = *user.module->file;
  LookupScope scope = scope_for(user, false);
  const Modules global = global_scope();
  scope.global = global;
  const char* name = file.dynamic_string(file.dynamic_symbols()[late.index].st_name);
  const Definition found =
      find_for(user, scope, name, std::string(file.wanted_version(late.index)));
  if (!found.is_found()) return nullptr;
  if (found.owner != nullptr && found.owner != &user) user.uses.push_back(found.owner);
  void* function = address_of(found);
  std::memcpy(user.base + late.vaddr, &function, sizeof function);
  return function;
}

void RankLinker::make_global(LoadedModule& root) {
  for (LoadedModule* m : root.search_list) {
    if (m->is_global) continue;
    m->is_global = true;
    opened_globally_.push_back(m);
  }
}

void RankLinker::start(LoadedModule& root) {
  Modules order;
  add_in_start_order(&root, order);
  for (const LoadedModule* m : order) say_what_is_needed(instance_, *m);
  for (LoadedModule* m : order) {
    m->start_order = ++starts_;
    const auto [argc, argv] = instance_.arguments();
    call_start_hooks(m->module->hooks, m->base, argc, argv, instance_.environment());
  }
}

}  // namespace mpc::loader
