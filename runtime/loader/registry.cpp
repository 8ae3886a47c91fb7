#include "runtime/loader/registry.h"

#include <new>

namespace mpc::loader {

Registry& Registry::instance() noexcept {
  static constinit Registry registry;
  return registry;
}

bool Registry::add_chunk(char* begin, size_t stride, size_t instances) noexcept {
  const size_t index = count_.load(std::memory_order_relaxed);  // callers hold a lock
  if (index == kMaxChunks) return false;
  auto* table = new (std::nothrow) std::atomic<ProgramInstance*>[instances];
  if (table == nullptr) return false;
  for (size_t i = 0; i < instances; ++i)
    table[i].store(nullptr, std::memory_order_relaxed);
  Chunk& chunk = chunks_[index];
  chunk.begin = reinterpret_cast<uintptr_t>(begin);
  chunk.end = chunk.begin + stride * instances;
  chunk.stride = stride;
  chunk.instances = table;
  count_.store(index + 1, std::memory_order_release);  // pairs with chunk_of
  return true;
}

const Chunk* Registry::chunk_of(uintptr_t address) const noexcept {
  const size_t count = count_.load(std::memory_order_acquire);  // pairs with add_chunk
  for (size_t i = 0; i < count; ++i)
    if (address >= chunks_[i].begin && address < chunks_[i].end) return &chunks_[i];
  return nullptr;
}

void Registry::set_instance(char* base, ProgramInstance* instance) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(base);
  if (const Chunk* chunk = chunk_of(address))
    chunk->instances[(address - chunk->begin) / chunk->stride].store(
        instance, std::memory_order_release);  // pairs with find
}

ProgramInstance* Registry::find(const void* address) const noexcept {
  const auto a = reinterpret_cast<uintptr_t>(address);
  const Chunk* chunk = chunk_of(a);
  if (chunk == nullptr) return nullptr;
  return chunk->instances[(a - chunk->begin) / chunk->stride].load(
      std::memory_order_acquire);  // pairs with set_instance
}

bool Registry::add_master(const void* handle, uintptr_t load_address) noexcept {
  const size_t index = master_count_.load(std::memory_order_relaxed);  // callers lock
  if (index == kMaxMasters) return false;
  masters_[index] = {handle, load_address};
  master_count_.store(index + 1, std::memory_order_release);  // pairs with is_master
  return true;
}

bool Registry::is_master(uintptr_t load_address) const noexcept {
  const size_t count = master_count_.load(std::memory_order_acquire);  // add_master
  for (size_t i = 0; i < count; ++i)
    if (masters_[i].load_address == load_address) return true;
  return false;
}

bool Registry::is_master_handle(const void* handle) const noexcept {
  const size_t count = master_count_.load(std::memory_order_acquire);  // add_master
  for (size_t i = 0; i < count; ++i)
    if (masters_[i].handle == handle) return true;
  return false;
}

}  // namespace mpc::loader
