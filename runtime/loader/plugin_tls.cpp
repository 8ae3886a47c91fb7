#include "runtime/loader/plugin_tls.h"

#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "runtime/loader/image.h"
#include "runtime/loader/plugin.h"
#include "runtime/loader/plugin_space.h"

extern "C" void* __tls_get_addr(size_t module_and_offset[2]);

namespace mpc::loader {
namespace {

constexpr size_t kMaxTlsModules = 16384;
// Indexed by the dynamic linker's number.
std::atomic<const Plugin*> g_plugins[kMaxTlsModules];

uint64_t* mark_of(const Plugin& plugin, char* block) {
  const auto at = reinterpret_cast<uintptr_t>(block + plugin.tls_bytes);
  return reinterpret_cast<uint64_t*>((at + 7) & ~uintptr_t{7});
}

void fill(const Plugin& plugin, const char* base, char* block) {
  const Elf64_Phdr& tls = *plugin.module.file->segment(PT_TLS);
  std::memcpy(block, base + tls.p_vaddr, tls.p_filesz);
  std::memset(block + tls.p_filesz, 0, tls.p_memsz - tls.p_filesz);
}

// The caller's copy determines the rank, and thus the copy that the thread_local belongs to.
[[gnu::noinline, gnu::cold]] void fill_for(const Plugin& plugin, char* block,
                                           const void* caller) {
  const PluginPlace* place = PluginSpace::instance().find(caller);
  if (place == nullptr) return;
  const auto [base, generation] = place->instance->instance_of(plugin);
  if (base == nullptr || *mark_of(plugin, block) == generation) return;
  fill(plugin, base, block);
  *mark_of(plugin, block) = generation;
}

void* get_thread_local(size_t module_and_offset[2]) {
  auto* address = static_cast<char*>(__tls_get_addr(module_and_offset));
  const size_t module = module_and_offset[0];
  if (module >= kMaxTlsModules) return address;
  // Pairs with register_thread_locals.
  const Plugin* plugin = g_plugins[module].load(std::memory_order_acquire);
  if (plugin == nullptr) return address;
  char* block = address - module_and_offset[1];
  // A thread belongs to one rank forever; only a rank that loads the library a second time has a
  // second generation. Relaxed: the thread itself, or one that it synchronised with, loaded it.
  if (*mark_of(*plugin, block) == 0 ||
      plugin->was_unloaded.load(std::memory_order_relaxed)) [[unlikely]]
    fill_for(*plugin, block, __builtin_return_address(0));
  return address;
}

}  // namespace

Result<> register_thread_locals(Plugin& plugin) {
  const size_t module = plugin.module.tls_module;
  if (module == 0) return {};
  if (module >= kMaxTlsModules)
    return Error{Errc::kNoMem,
                 fmt::format("{}: more than {} libraries with thread_locals",
                             plugin.path(), kMaxTlsModules)};
  g_plugins[module].store(&plugin, std::memory_order_release);  // get_thread_local
  return {};
}

void* thread_local_function() noexcept {
  return reinterpret_cast<void*>(&get_thread_local);
}

void* thread_local_address(const Plugin& plugin, char* base, uint64_t generation,
                           size_t offset) noexcept {
  char* block = thread_block(plugin.module.tls_module);
  if (*mark_of(plugin, block) != generation) {
    fill(plugin, base, block);
    *mark_of(plugin, block) = generation;
  }
  return block + offset;
}

char* thread_block(size_t tls_module) noexcept {
  size_t index[2] = {tls_module, 0};
  return static_cast<char*>(__tls_get_addr(index));
}

int64_t static_thread_offset(size_t tls_module) noexcept {
  char* thread_pointer;
  asm("movq %%fs:0, %0" : "=r"(thread_pointer));
  return thread_block(tls_module) - thread_pointer;
}

}  // namespace mpc::loader
