#pragma once
// Region: the header of each mapping of the heaps; AddressMap: the region of an address.
//
// Role:      says for any pointer which heap it belongs to, or that it belongs to none. A free()
//            by a foreign thread reads nothing else that its owner writes.
// Users:     runtime/heap.
// Threads:   find() any; add() and remove() the thread that maps or unmaps that memory.
// See also:  docs/design/0017-heaps.md.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/heap/memory.h"

namespace mpc::heap {

class Heap;

enum class RegionKind : uint32_t { kChunk, kLarge };

// At the beginning of a mapping, which is a multiple of kSlotBytes. Written before the region is
// in the map.
struct alignas(64) Region {
  RegionKind kind;
  Heap* heap;    // the heap that allocates here
  size_t bytes;  // of the mapping
};

// Two levels: 2^13 tables of 2^13 slots of 2 MiB, which cover all of a process's 47 bits.
class AddressMap {
 public:
  static Region* find(const void* address) noexcept {
    const uintptr_t slot = slot_of(address);
    if (slot >> (2 * kBits) != 0) return nullptr;
    // Acquire pairs with the release in table_for().
    const Table* table = tables_[slot >> kBits].load(std::memory_order_acquire);
    if (table == nullptr) return nullptr;
    // Acquire pairs with the release in set().
    return table->slots[slot & kMask].load(std::memory_order_acquire);
  }

  // Adds all slots that the range touches. False: no memory.
  static bool add(const void* begin, size_t bytes, Region* region) noexcept {
    return set(begin, bytes, region);
  }
  static void remove(const void* begin, size_t bytes) noexcept {
    set(begin, bytes, nullptr);
  }

 private:
  static constexpr int kBits = 13;
  static constexpr uintptr_t kMask = (uintptr_t{1} << kBits) - 1;
  struct Table {
    std::atomic<Region*> slots[size_t{1} << kBits];
  };

  static uintptr_t slot_of(const void* address) noexcept {
    return reinterpret_cast<uintptr_t>(address) / kSlotBytes;
  }
  static bool set(const void* begin, size_t bytes, Region* region) noexcept;
  static Table* table_for(uintptr_t slot) noexcept;

  static constinit std::atomic<Table*> tables_[size_t{1} << kBits];
};

}  // namespace mpc::heap
