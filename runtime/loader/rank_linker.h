#pragma once
// Rank linker: dlopen() and its relatives for one rank.
//
// Role:      the list of modules of a rank (its program's, and its copies of plugins), a
//            program's queries about it, and the start and end of modules that are loaded later.
// Users:     runtime/loader/program_instance.cpp, runtime/interpose/dynamic_linker.cpp.
// Threads:   any thread of the rank; open() and close() one at a time, their constructors and
//            destructors included, as with the dynamic linker.
// See also:  docs/loader.md; docs/design/0018-dlopen.md; dlopen(3).

#include <link.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/loader/binding.h"

namespace mpc::loader {

// Its functions are in four files: the list of modules in rank_linker.cpp, the others in
// rank_linker_open.cpp, rank_linker_close.cpp and rank_linker_symbol.cpp.
class RankLinker {
 public:
  explicit RankLinker(ProgramInstance& instance);
  ~RankLinker();
  RankLinker(const RankLinker&) = delete;
  RankLinker& operator=(const RankLinker&) = delete;

  // Like dlopen(); null without an error: RTLD_NOLOAD, and it is not loaded. `caller`: the address
  // of the call. Switches: as constructors do. Errors: the message is dlerror()'s.
  Result<void*> open(const std::string& name, int flags, const void* caller);
  // Like dlclose(). Switches: as destructors do.
  Result<> close(void* handle);
  // Like dlsym() and, with a version, dlvsym().
  Result<void*> symbol(void* handle, const std::string& name,
                       const std::string& version, const void* caller);

  // The module behind a handle; null: it is none of this rank's private modules.
  LoadedModule* module_of_handle(const void* handle);
  // The module of an address of this rank's program or plugins, or null.
  LoadedModule* module_at(const void* address);
  // A copy of the list, which can be walked without a lock. A module in it may be closed meanwhile.
  std::vector<LoadedModule*> modules();
  // While such a lock exists, no module is unloaded.
  std::unique_lock<std::recursive_mutex> keep_modules() {
    return std::unique_lock(list_mutex_);
  }
  // For fork(): the locks of this object, all of which the child must find free.
  struct Locks {
    std::recursive_mutex& loading;
    std::recursive_mutex& list;
  };
  Locks locks() noexcept { return {load_mutex_, list_mutex_}; }
  // Numbers for dl_iterate_phdr().
  uint64_t load_count() const noexcept { return load_count_; }
  uint64_t unload_count() const noexcept { return unload_count_; }

  // Base and generation of this rank's copy of a plugin; null, 0: it has none.
  std::pair<char*, uint64_t> instance_of(const Plugin& plugin);
  // Prepares the static thread_locals of a thread that begins.
  void enter_thread();
  // The library that contains this address is never unloaded.
  void pin(const void* address);
  // Runs the destructors of all plugins, the latest first. Once.
  void finish();
  // The function for a stub (see LateSymbol), or null.
  void* bind_late(const LateSymbol& late);

 private:
  using Modules = LoadedModules;
  struct Opening;

  void add_program();
  void append(std::unique_ptr<LoadedModule> module);
  void renumber();
  LookupScope scope_for(const LoadedModule& user, bool is_deep) const;
  Modules global_scope() const;

  LoadedModule* find_by_name(const std::string& name) const;
  LoadedModule* find_by_path(const std::string& path) const;
  Result<std::string> locate(const std::string& name, const LoadedModule* user) const;
  Result<void*> open_shared(const std::string& name, int flags);
  Result<LoadedModule*> load(const std::string& path, int flags,
                             const LoadedModule* user);
  Result<LoadedModule*> add_plugin(const std::string& path, LoadedModule* root,
                                   std::vector<std::string> inherited);
  Result<> add_needs(LoadedModule& module, Modules& fresh);
  Result<> relocate(LoadedModule& module, bool is_deep, bool binds_now);
  Result<> make_stubs(LoadedModule& module, const Binding& binding);
  void make_global(LoadedModule& root);
  void start(LoadedModule& module);
  void abandon(const Modules& fresh);
  Result<> close_shared(void* handle);
  void collect();
  void end(LoadedModule& module);
  void remove(LoadedModule* module);
  Modules unreachable();

  ProgramInstance& instance_;
  std::recursive_mutex
      load_mutex_;  // held by open() and close(), constructors included
  std::recursive_mutex list_mutex_;  // guards modules_; acquired after load_mutex_
  std::vector<std::unique_ptr<LoadedModule>> owned_;
  Modules modules_;          // in the order of loading; the program first
  Modules opened_globally_;  // plugins, in the order in which they became global
  size_t program_modules_ = 0;
  std::map<void*, int>
      shared_handles_;  // open handles of libraries that all ranks share
  uint64_t starts_ = 0;
  uint64_t load_count_ = 0;
  uint64_t unload_count_ = 0;
  bool is_collecting_ = false;
  bool must_collect_again_ = false;
};

// The calling thread's block of a module's thread_locals, or null.
void* thread_locals_of(const LoadedModule& module);

}  // namespace mpc::loader
