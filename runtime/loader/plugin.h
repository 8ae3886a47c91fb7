#pragma once
// Plugin: a library that ranks load after their start, prepared once for the whole process.
//
// Role:      what Blueprint is for a program, for one library that dlopen() loads (or that such
//            a library needs): its master, the image of its data, the words
//            that depend on the address of a copy, and the words that name
//            symbols, which each rank resolves separately.
// Users:     runtime/loader.
// Threads:   immutable once created, except `bindings`. Never destroyed then: threads may be
//            anywhere in it.
// See also:  docs/loader.md (libraries that are loaded later); docs/design/0018-dlopen.md.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/loader/module.h"

namespace mpc::loader {

// A word of a plugin's data whose value depends on a symbol.
struct Reference {
  size_t vaddr;
  uint32_t type;   // R_X86_64_...
  uint32_t index;  // in the plugin's dynamic symbol table
  uint64_t addend;
  uint64_t master;  // the dynamic linker's value; 0: it found nothing
};

// A private library that a plugin needs.
struct Need {
  std::string name;
  std::string path;  // "" if it was not found
};

struct Binding;  // binding.h

class Plugin {
 public:
  Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const std::string& path() const noexcept { return module.file->path(); }

  uint32_t id = 0;  // unique in the process
  Module module;    // bundle_offset is 0
  int image_fd = -1;
  std::vector<Need> needs;
  std::vector<size_t> relative;  // words that hold an offset in this plugin
  std::vector<Reference> references;
  // Its thread_locals are accessed without a call of ours.
  bool has_static_tls = false;
  bool has_thread_pointers =
      false;  // initial values of thread_locals that are addresses
  bool needs_executable_stack = false;
  bool binds_now = false;      // as if opened with RTLD_NOW
  bool binds_to_self = false;  // -Bsymbolic
  size_t tls_bytes = 0;        // of each thread's block, without our mark after it
  std::atomic<bool> was_unloaded{false};  // by some rank; see plugin_tls.h

  // Results of symbol lookups, which ranks with the same history share. See binding.h.
  std::mutex binding_mutex;
  std::map<std::vector<uint64_t>, std::shared_ptr<const Binding>> bindings;
};

}  // namespace mpc::loader
