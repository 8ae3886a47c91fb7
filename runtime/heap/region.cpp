#include "runtime/heap/region.h"

namespace mpc::heap {

constinit std::atomic<AddressMap::Table*> AddressMap::tables_[size_t{1} << kBits] = {};

AddressMap::Table* AddressMap::table_for(uintptr_t slot) noexcept {
  std::atomic<Table*>& entry = tables_[slot >> kBits];
  // Acquire pairs with the release below.
  Table* table = entry.load(std::memory_order_acquire);
  if (table != nullptr) return table;
  // Zeroed pages are a table without regions.
  char* memory = map(sizeof(Table), kPageBytes, Commit::kUncounted);
  if (memory == nullptr) return nullptr;
  auto* fresh = reinterpret_cast<Table*>(memory);
  if (entry.compare_exchange_strong(table, fresh, std::memory_order_acq_rel,
                                    std::memory_order_acquire))
    return fresh;
  unmap(memory, sizeof(Table));  // another thread was first
  return table;
}

bool AddressMap::set(const void* begin, size_t bytes, Region* region) noexcept {
  const uintptr_t last = slot_of(static_cast<const char*>(begin) + bytes - 1);
  for (uintptr_t slot = slot_of(begin); slot <= last; ++slot) {
    if (slot >> (2 * kBits) != 0) return false;
    Table* table = table_for(slot);
    if (table == nullptr) return false;
    // Release: a thread that finds the region sees what was written into it.
    table->slots[slot & kMask].store(region, std::memory_order_release);
  }
  return true;
}

}  // namespace mpc::heap
