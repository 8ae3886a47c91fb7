// malloc and its relatives, from the calling thread's heap: the exports of libmpc_heap.so.

#include <malloc.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/rank_heap.h"
#include "runtime/heap/heap.h"
#include "runtime/heap/large_blocks.h"
#include "runtime/heap/owner.h"
#include "runtime/heap/thread_heap.h"

#define MPC_EXPORT extern "C" __attribute__((visibility("default")))

namespace mpc::heap {

namespace {

void* out_of_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}

struct Found {
  void* block;
  bool is_zero;
};

Found find_memory(size_t bytes, size_t alignment) noexcept {
  Heap* heap = thread_heap();
  if (heap == nullptr || bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX - bytes)
    return {out_of_memory(), false};
  Found found{nullptr, false};
  if (bytes + alignment > kMediumBytes) {
    found.block = allocate_large(*heap, bytes, alignment, &found.is_zero);
  } else if (alignment > kAlignment) {
    found.block = heap->allocate_aligned(std::max(bytes, kAlignment), alignment);
  } else if (bytes > kSmallBytes) {
    found.block = heap->allocate_medium(bytes, alignment, &found.is_zero);
  } else {
    found.block = heap->allocate(bytes);
  }
  if (found.block == nullptr) out_of_memory();
  return found;
}

void* allocate(size_t bytes, size_t alignment) noexcept {
  return find_memory(bytes, alignment).block;
}

inline Region& region_of(void* pointer, const char* what) noexcept {
  Region* region = AddressMap::find(pointer);
  if (region == nullptr) [[unlikely]]
    die(what, pointer);
  return *region;
}

// How many bytes the program may use from this pointer on.
size_t usable_bytes(Region& region, void* pointer) noexcept {
  if (region.kind == RegionKind::kLarge)
    return static_cast<Large&>(region).usable_bytes();
  auto* span = reinterpret_cast<Span*>(static_cast<Chunk&>(region).run_of(pointer));
  if (span == nullptr) die("the memory is free already", pointer);
  const char* block =
      span->is_medium ? span->blocks() : span->block_of(static_cast<char*>(pointer));
  return span->block_bytes - static_cast<size_t>(static_cast<char*>(pointer) - block);
}

}  // namespace
}  // namespace mpc::heap

using namespace mpc::heap;

MPC_EXPORT void mpc_heap_enter_rank(int rank, int node) { enter_owner(rank, node); }
MPC_EXPORT int mpc_heap_rank_of(const void* address) {
  const Region* region = AddressMap::find(address);
  // The last slot of a mapping may have other mappings after it.
  const bool is_inside =
      region != nullptr &&
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(region) <
          region->bytes;
  return is_inside ? region->heap->owner().rank() : kProcess;
}

MPC_EXPORT void* malloc(size_t bytes) noexcept {
  Heap* heap = t_heap;
  if (heap != nullptr && bytes <= kSmallBytes) [[likely]] {
    void* block = heap->allocate(bytes);
    return block != nullptr ? block : out_of_memory();
  }
  return allocate(bytes, kAlignment);
}

MPC_EXPORT void free(void* pointer) noexcept {
  if (pointer == nullptr) return;
  Region& region = region_of(pointer, "free(): not allocated by malloc");
  if (region.kind == RegionKind::kLarge) [[unlikely]] {
    release_large(static_cast<Large&>(region), pointer, t_heap);
  } else if (region.heap == t_heap) [[likely]] {
    t_heap->free_own(static_cast<Chunk&>(region), pointer);
  } else {
    region.heap->free_remote(pointer);
  }
}

MPC_EXPORT void* calloc(size_t count, size_t bytes) noexcept {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) return out_of_memory();
  const Found found = find_memory(total, kAlignment);
  if (found.block != nullptr && !found.is_zero) std::memset(found.block, 0, total);
  return found.block;
}

MPC_EXPORT void* realloc(void* pointer, size_t bytes) noexcept {
  if (pointer == nullptr) return malloc(bytes);
  if (bytes == 0) {  // as in glibc
    free(pointer);
    return nullptr;
  }
  Region& region = region_of(pointer, "realloc(): not allocated by malloc");
  const size_t usable = usable_bytes(region, pointer);
  if (bytes <= usable && bytes >= usable / 2) return pointer;
  if (region.kind == RegionKind::kLarge && bytes > kMediumBytes &&
      bytes <= PTRDIFF_MAX / 2) {
    if (void* same = resize_large(static_cast<Large&>(region), bytes)) return same;
  }
  void* fresh = malloc(bytes);
  if (fresh == nullptr) return bytes <= usable ? pointer : nullptr;
  std::memcpy(fresh, pointer, std::min(bytes, usable));
  free(pointer);
  return fresh;
}

MPC_EXPORT void* reallocarray(void* pointer, size_t count, size_t bytes) noexcept {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) return out_of_memory();
  return realloc(pointer, total);
}

MPC_EXPORT void* memalign(size_t alignment, size_t bytes) noexcept {
  if (alignment > PTRDIFF_MAX) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate(bytes, std::bit_ceil(std::max(alignment, kAlignment)));
}

MPC_EXPORT void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return memalign(alignment, bytes);
}

MPC_EXPORT int posix_memalign(void** out, size_t alignment, size_t bytes) noexcept {
  if (alignment % sizeof(void*) != 0 || !std::has_single_bit(alignment)) return EINVAL;
  const int saved = errno;  // posix_memalign() must not change it
  void* block = memalign(alignment, bytes);
  errno = saved;
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}

MPC_EXPORT void* valloc(size_t bytes) noexcept { return memalign(kPageBytes, bytes); }

MPC_EXPORT void* pvalloc(size_t bytes) noexcept {
  if (bytes > PTRDIFF_MAX) return out_of_memory();
  return memalign(kPageBytes, round_up(std::max<size_t>(bytes, 1), kPageBytes));
}

MPC_EXPORT size_t malloc_usable_size(void* pointer) noexcept {
  if (pointer == nullptr) return 0;
  return usable_bytes(
      region_of(pointer, "malloc_usable_size(): not allocated by malloc"), pointer);
}

// Trims only the thread's own heap: the heaps of other threads are in use.
MPC_EXPORT int malloc_trim(size_t) noexcept {
  if (t_heap == nullptr) return 0;
  t_heap->trim();
  return 1;
}

// Figures of the caller's rank; freed small blocks that wait for their next use count as in use.
MPC_EXPORT struct mallinfo2 mallinfo2() noexcept {
  struct mallinfo2 info {};
  if (t_heap == nullptr) return info;
  const Owner& owner = t_heap->owner();
  // Acquire pairs with the release in take_heap().
  for (const Heap* heap = owner.heaps.load(std::memory_order_acquire); heap != nullptr;
       heap = heap->next_of_owner) {
    const Usage usage = heap->usage();
    info.arena += usage.mapped_bytes;
    info.uordblks += usage.used_bytes;
  }
  info.fordblks = info.arena - info.uordblks;
  info.hblkhd = owner.large_bytes.load(std::memory_order_relaxed);
  info.uordblks += info.hblkhd;  // glibc counts them, too
  return info;
}

MPC_EXPORT struct mallinfo mallinfo() noexcept {
  const auto cut = [](size_t value) {
    return static_cast<int>(value);
  };  // as glibc does
  const struct mallinfo2 info = mallinfo2();
  struct mallinfo out {};
  out.arena = cut(info.arena);
  out.uordblks = cut(info.uordblks);
  out.fordblks = cut(info.fordblks);
  out.hblkhd = cut(info.hblkhd);
  return out;
}
