#include "runtime/loader/rank_linker.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "runtime/loader/debugger_view.h"
#include "runtime/loader/image.h"
#include "runtime/loader/late_binding.h"
#include "runtime/loader/library_search.h"
#include "runtime/loader/library_sharing.h"
#include "runtime/loader/module_layout.h"
#include "runtime/loader/plugin_space.h"
#include "runtime/loader/plugin_tls.h"

namespace mpc::loader {
namespace {

using Modules = std::vector<LoadedModule*>;

uint64_t next_generation() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool contains(const Modules& modules, const LoadedModule* module) {
  return std::find(modules.begin(), modules.end(), module) != modules.end();
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

// Links have other names than the file that they lead to.
bool is_shared(const std::string& name, const std::string& path) {
  return !must_be_private(file_name(path), sharing_rules()) ||
         !must_be_private(file_name(name), sharing_rules()) || is_loaded(path);
}

std::string taken_error() {
  const char* text = ::dlerror();
  return text != nullptr ? text : "unknown error of the dynamic linker";
}

// Breadth first, each once, beginning with the module itself.
Modules search_list_of(LoadedModule* first) {
  Modules list = {first};
  for (size_t i = 0; i < list.size(); ++i)
    for (LoadedModule* need : list[i]->needs)
      if (!contains(list, need)) list.push_back(need);
  return list;
}

// What a module needs starts before it.
void add_in_start_order(LoadedModule* module, Modules& order) {
  if (contains(order, module) || module->has_started) return;
  module->has_started = true;
  for (auto it = module->needs.rbegin(); it != module->needs.rend(); ++it)
    add_in_start_order(*it, order);
  order.push_back(module);
}

template <class Function>
Function function_at(char* address) {
  return reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(address));
}

}  // namespace

RankLinker::RankLinker(Copy& copy) : copy_(copy) { add_program(); }

RankLinker::~RankLinker() {
  for (const auto& module : owned_)
    if (module->plugin != nullptr) {
      DebuggerView::remove_plugin(module->place);
      if (module->stubs != nullptr) ::munmap(module->stubs, module->stubs_bytes);
      PluginSpace::instance().release(module->base, module->module->span_bytes);
    }
}

void RankLinker::add_program() {
  const std::vector<Module>& modules = copy_.image().blueprint().modules;
  for (const Module& m : modules) {
    auto loaded = std::make_unique<LoadedModule>();
    loaded->module = &m;
    loaded->base = copy_.base() + m.bundle_offset;
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

// Positions, and the chain that programs walk from a handle.
void RankLinker::renumber() {
  for (size_t i = 0; i < modules_.size(); ++i) {
    LoadedModule& m = *modules_[i];
    m.position = i;
    m.map.l_prev = i > 0 ? &modules_[i - 1]->map : nullptr;
    m.map.l_next = i + 1 < modules_.size() ? &modules_[i + 1]->map : nullptr;
  }
}

// --- what is there ---------------------------------------------------------------------------

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

// --- open ------------------------------------------------------------------------------------

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
    if (found == nullptr && Plugin::find(*path) == nullptr && is_shared(name, *path))
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

// One for all ranks: the dynamic linker's, with a count of our own, so that a rank cannot
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
  auto plugin = Plugin::get(path, inherited);
  if (!plugin) return plugin.error();
  const Module& m = (*plugin)->module;
  if ((*plugin)->needs_executable_stack && !copy_.image().needs_executable_stack())
    return Error{
        Errc::kImage,
        fmt::format("{}: needs an executable stack (nested functions whose address "
                    "is taken), which ranks have if their program was linked with "
                    "-z execstack",
                    path)};
  if ((*plugin)->has_static_tls && m.file->segment(PT_TLS) != nullptr &&
      copy_.has_had_threads() && (*plugin)->has_thread_pointers)
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
  loaded->place = {&copy_, &m, base};
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
  return {copy_, modules_, {}, user.root->search_list, is_deep};
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
  using StartHook = void (*)(int, char**, char**);
  Modules order;
  add_in_start_order(&root, order);
  for (LoadedModule* m : order) {
    const Hooks& hooks = m->module->hooks;
    m->start_order = ++starts_;
    const auto [argc, argv] = copy_.arguments();
    char** envp = copy_.environment();
    if (hooks.init != 0) function_at<StartHook>(m->base + hooks.init)(argc, argv, envp);
    const auto* functions = reinterpret_cast<StartHook*>(m->base + hooks.init_array);
    for (size_t i = 0; i < hooks.init_count; ++i) functions[i](argc, argv, envp);
  }
}

// --- close -----------------------------------------------------------------------------------

Result<> RankLinker::close(void* handle) {
  std::lock_guard lock(load_mutex_);
  LoadedModule* module = module_of_handle(handle);
  if (module == nullptr) return close_shared(handle);
  if (module->plugin == nullptr) return {};  // as long as the program
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

// A destructor may close other libraries: once more, then.
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
    for (LoadedModule* m : unreachable()) {  // not what was opened again meanwhile
      if (!contains(gone, m)) continue;
      m->plugin->was_unloaded.store(true, std::memory_order_relaxed);
      remove(m);
    }
  }
  is_collecting_ = false;
}

void RankLinker::end(LoadedModule& module) {
  using EndHook = void (*)();
  if (!module.has_started || module.plugin == nullptr) return;
  module.has_started = false;  // first: a destructor may call exit()
  const Hooks& hooks = module.module->hooks;
  const auto* functions = reinterpret_cast<EndHook*>(module.base + hooks.fini_array);
  for (size_t i = hooks.fini_count; i-- > 0;) functions[i]();
  if (hooks.fini != 0) function_at<EndHook>(module.base + hooks.fini)();
  copy_.finalize_range(module.base, module.base + module.module->span_bytes);
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

// --- symbols ---------------------------------------------------------------------------------

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
    if (void* variable = Image::find_variable(copy_, name.c_str())) return variable;
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

void* thread_locals_of(const LoadedModule& m) {
  if (m.module->tls_module == 0) return nullptr;
  if (m.plugin != nullptr)
    return thread_local_address(*m.plugin, m.base, m.generation, 0);
  return thread_block(m.module->tls_module);
}

// --- dlerror() -------------------------------------------------------------------------------

namespace {

// A thread's latest failure, and the text that dlerror() gave out last. No objects with a
// destructor: exit handlers may ask after those of the thread have run.
thread_local char* t_error = nullptr;
thread_local char* t_given = nullptr;

struct Cleaner {
  ~Cleaner() {
    clear_error();
    std::free(t_given);
    t_given = nullptr;
  }
  bool is_there = false;
};
thread_local Cleaner t_cleaner;

}  // namespace

void set_error(const std::string& text) noexcept {
  t_cleaner.is_there = true;
  clear_error();
  t_error = ::strdup(text.c_str());
}
void clear_error() noexcept {
  std::free(t_error);
  t_error = nullptr;
}
const char* take_error() noexcept {
  if (t_error == nullptr) return nullptr;
  std::free(t_given);
  t_given = t_error;
  t_error = nullptr;
  return t_given;
}

}  // namespace mpc::loader
