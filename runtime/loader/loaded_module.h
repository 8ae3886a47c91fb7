#pragma once
// LoadedModule: a program, library or plugin in one rank.
//
// Role:      an entry of a rank's list of modules; names, bindings and handles refer to it.
// Users:     runtime/loader.
// Threads:   guarded by the rank linker that owns it.
// See also:  runtime/loader/rank_linker.h.

#include <link.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/loader/module.h"
#include "runtime/loader/plugin_space.h"

namespace mpc::loader {

class Plugin;
struct LoadedModule;

// A function that was not found when a library was opened with RTLD_LAZY.
struct LateSymbol {
  LoadedModule* user;
  uint32_t index;
  size_t vaddr;
};

// A module of a rank: of its program's bundle, or its copy of a plugin.
struct LoadedModule {
  link_map map{};  // first: its address is the handle that the program gets
  const Module* module = nullptr;
  Plugin* plugin = nullptr;  // null: in the program's bundle
  char* base = nullptr;
  PluginPlace place;
  size_t position = 0;      // in the rank's list
  uint64_t generation = 0;  // unique in the process
  int opens = 0;
  bool is_global = false;
  bool is_pinned = false;    // is never unloaded
  bool has_started = false;  // its constructors ran, or run
  uint64_t start_order = 0;
  LoadedModule* root = nullptr;            // the opened library that brought it
  std::vector<std::string> inherited;      // RPATHs for the libraries that it needs
  std::vector<LoadedModule*> needs;        // private ones, in the order of its file
  std::vector<LoadedModule*> search_list;  // itself, then what it needs, breadth first
  // Other modules whose symbols it was bound to.
  std::vector<LoadedModule*> uses;
  char* stubs = nullptr;  // see LateSymbol
  size_t stubs_bytes = 0;
  std::vector<LateSymbol> late;
};

using LoadedModules = std::vector<LoadedModule*>;

bool contains(const LoadedModules& modules, const LoadedModule* module);
// Breadth first, each once, beginning with the module itself.
LoadedModules search_list_of(LoadedModule* first);

}  // namespace mpc::loader
