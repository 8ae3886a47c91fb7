#pragma once
// Binding: the definitions to which the references of a plugin are bound in a rank.
//
// Role:      the dynamic linker's symbol lookup, over the modules of one rank instead of those of
//            the process. The result names modules by their place in the rank's list, so that
//            all ranks that loaded the same libraries in the same order use one result.
// Users:     runtime/loader/rank_linker.h.
// Threads:   bind() under the rank's lock; the result is immutable.
// See also:  System V ABI, chapter 5 (shared object dependencies, symbol tables); dlopen(3).
//
//   order of a lookup:  program and its libraries, what was opened with RTLD_GLOBAL  (global)
//                       libc and others that all ranks share, if the process has them
//                       the opened library and what it needs                          (local)
//                       shared libraries that only these need
//                       a program's own symbols that it does not export (no -rdynamic)

#include <link.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/loader/loaded_module.h"

namespace mpc::loader {

class ProgramInstance;

// The modules in which a rank looks up a symbol.
struct LookupScope {
  const ProgramInstance& instance;
  std::span<LoadedModule* const> all;     // in the order of loading
  std::span<LoadedModule* const> global;  // begins with the program
  std::span<LoadedModule* const> local;
  bool is_deep = false;  // RTLD_DEEPBIND: local first
};

inline constexpr uint32_t kNoOwner = UINT32_MAX;

// `value` counts from the base of the owner, or is the whole value if there is no owner.
struct BoundWord {
  size_t vaddr;
  uint32_t owner;
  uint64_t value;
};

struct MissingFunction {
  size_t vaddr;
  uint32_t index;
};

struct Binding {
  std::vector<BoundWord> words;
  std::vector<uint32_t> owners;  // each once
  std::vector<MissingFunction> missing;
};

// Errors: kImage: an undefined symbol, or a thread_local that cannot be reached.
Result<std::shared_ptr<const Binding>> bind(const LoadedModule& user,
                                            const LookupScope& scope, bool binds_now);

// The definition of a name; for dlsym().
struct Definition {
  LoadedModule* owner = nullptr;      // null: not in a private module
  const Elf64_Sym* symbol = nullptr;  // in the owner's file
  void* shared = nullptr;             // in a library that all ranks share
  bool is_found() const noexcept { return owner != nullptr || shared != nullptr; }
};

Definition find_private(std::span<LoadedModule* const> modules, std::string_view name,
                        std::string_view version);
// Searches the libraries of the process, then those that only these modules need.
void* find_shared(std::span<LoadedModule* const> modules, const std::string& name,
                  const std::string& version);
// Searches only the libraries that these modules need.
void* find_needed_shared(std::span<LoadedModule* const> modules,
                         const std::string& name, const std::string& version);
// Our function, if libmpi_abi has one of this name for its ranks. Asked by the handle of libc,
// the dynamic linker would give libc's (which ends the process, where ours ends the rank).
void* replacement_of(const std::string& name, void* found);
// The address of a private definition in this rank, for the calling thread.
void* address_of(const Definition& definition);
// As for a reference of `user`, whatever the dynamic linker found for it.
Definition find_for(const LoadedModule& user, const LookupScope& scope,
                    const std::string& name, const std::string& version);

}  // namespace mpc::loader
