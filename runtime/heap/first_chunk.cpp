#include "runtime/heap/first_chunk.h"

#include <atomic>
#include <cstdint>

namespace mpc::heap {
namespace {

// First chunks are cut from regions that hold several, so that ranks cost few mappings. A cursor
// that is a multiple of the region's size means that nothing is left.
constexpr size_t kRegionBytes = 8 * kFirstChunkBytes;
constinit std::atomic<uintptr_t> g_cursor{0};

char* pointer(uintptr_t address) noexcept {
  return reinterpret_cast<char*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

char* take_first_chunk() noexcept {
  uintptr_t cursor = g_cursor.load(std::memory_order_relaxed);
  for (;;) {
    if (cursor % kRegionBytes != 0) {
      // Relaxed: the memory is zero, whichever thread mapped it.
      if (g_cursor.compare_exchange_weak(cursor, cursor + kFirstChunkBytes,
                                         std::memory_order_relaxed))
        return pointer(cursor);
      continue;
    }
    char* region = map(kRegionBytes, kRegionBytes, Commit::kUncounted);
    if (region == nullptr) {  // address space is limited
      region = map(kFirstChunkBytes, kSlotBytes, Commit::kUncounted);
      if (region != nullptr) refuse_huge_pages(region, kFirstChunkBytes);
      return region;
    }
    refuse_huge_pages(region, kRegionBytes);
    const uintptr_t mine = reinterpret_cast<uintptr_t>(region);
    if (g_cursor.compare_exchange_strong(cursor, mine + kFirstChunkBytes,
                                         std::memory_order_relaxed))
      return region;
    unmap(region, kRegionBytes);  // another thread was first
  }
}

}  // namespace mpc::heap
