#pragma once
// Plugin space: the address space of copies of plugins; finds the copy at an address.
//
// Role:      room for many small and some large mappings that are created and unmapped; answers the
//            unwinder, dladdr and the crash report in a few loads.
// Users:     runtime/loader.
// Threads:   allocate(), set() and release() any, serialised inside; find() any, signal
//            handlers included.
// See also:  runtime/loader/registry.h does the same for programs.

#include <cstddef>
#include <cstdint>

namespace mpc::loader {

class ProgramInstance;
struct Module;

// One rank's copy of a plugin, as far as other code must know it.
struct PluginPlace {
  ProgramInstance* instance = nullptr;  // the rank's program
  const Module* module = nullptr;
  char* base = nullptr;
};

// Copies begin and end at multiples of this.
inline constexpr size_t kGranuleBytes = size_t{64} * 1024;

class PluginSpace {
 public:
  static PluginSpace& instance() noexcept;
  // Reserved addresses, inaccessible; null: errno says why.
  char* allocate(size_t bytes, size_t alignment) noexcept;
  // From now on find() returns `place` for these addresses; null: nothing.
  void set(char* base, size_t bytes, const PluginPlace* place) noexcept;
  // Unmaps what lies there; the addresses may be reused.
  void release(char* base, size_t bytes) noexcept;
  const PluginPlace* find(const void* address) const noexcept;
};

}  // namespace mpc::loader
