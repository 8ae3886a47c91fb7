#include "runtime/heap/large_blocks.h"

#include <cstdint>
#include <new>

#include "runtime/heap/owner.h"

namespace mpc::heap {
namespace {

// Blocks begin at different offsets from a huge page; otherwise the same elements of several arrays
// would compete for the same lines of each cache.
constexpr size_t kColours = 16;
constexpr size_t kColourBytes = kPageBytes + 320;
// So much of each block has small pages: what touches little of a block touches its beginning, and pays for that
// much. The block begins so far before the second huge page of its mapping; only address space lies before it.
constexpr size_t kSmallPagesBytes = 512 << 10;
constexpr size_t kFirstOffset = kSlotBytes - kSmallPagesBytes;
constexpr size_t kNaturalAlignment = 64;  // all colours have it
constinit std::atomic<size_t> g_colour{0};

size_t offset_of_block(size_t alignment) noexcept {
  if (alignment > kNaturalAlignment) return round_up(kFirstOffset, alignment);
  const size_t colour = g_colour.fetch_add(1, std::memory_order_relaxed) % kColours;
  return kFirstOffset + colour * kColourBytes;
}

// Rounds up to whole huge pages, if that costs little.
size_t mapping_bytes(size_t bytes) noexcept {
  constexpr size_t kMostWaste = 8;
  const size_t pages = round_up(bytes, kPageBytes);
  const size_t slots = round_up(bytes, kSlotBytes);
  return (slots - pages) * kMostWaste <= pages ? slots : pages;
}

void count(Heap& heap, size_t added, size_t removed) noexcept {
  heap.owner().large_bytes.fetch_add(added - removed, std::memory_order_relaxed);
}

Large* make(Heap& heap, size_t bytes, size_t alignment) noexcept {
  const size_t offset = offset_of_block(alignment);
  const size_t total = mapping_bytes(offset + bytes);
  char* memory =
      map(total, alignment > kSlotBytes ? alignment : kSlotBytes, Commit::kCounted);
  if (memory == nullptr) return nullptr;
  // The header is written before the rest is advised, so that the kernel can make one mapping of both again, which
  // resize_large() needs (they have one anon_vma).
  refuse_huge_pages(memory, total);
  prefer_node(memory, total, heap.owner().node());
  auto* large = ::new (memory) Large{};
  if (total > kSlotBytes) allow_huge_pages(memory + kSlotBytes, total - kSlotBytes);
  large->kind = RegionKind::kLarge;
  large->heap = &heap;
  large->bytes = total;
  large->block = memory + offset;
  if (AddressMap::add(large->block, 1, large)) return large;
  unmap(memory, total);
  return nullptr;
}

}  // namespace

void* allocate_large(Heap& heap, size_t bytes, size_t alignment,
                     bool* is_zero) noexcept {
  Large* large = alignment <= kNaturalAlignment ? heap.take_kept(bytes) : nullptr;
  *is_zero = large == nullptr;
  if (large == nullptr) large = make(heap, bytes, alignment);
  if (large == nullptr) return nullptr;
  large->is_kept = false;
  count(heap, large->usable_bytes(), 0);
  return large->block;
}

void release_large(Large& large, void* pointer, Heap* own) noexcept {
  if (pointer != large.block) die("free(): not the beginning of a block", pointer);
  if (large.is_kept) die("free(): the memory is free already", pointer);
  count(*large.heap, 0, large.usable_bytes());
  large.is_kept = true;
  if (large.heap != own || !own->keep(&large)) large.destroy();
}

void* resize_large(Large& large, size_t bytes) noexcept {
  const auto offset =
      static_cast<size_t>(large.block - reinterpret_cast<char*>(&large));
  const size_t old_bytes = large.bytes;
  const size_t new_bytes = mapping_bytes(offset + bytes);
  if (new_bytes == old_bytes) return large.block;
  Heap* heap = large.heap;
  // Removed first: once the mapping has moved, another thread may get that address.
  char* old_block = large.block;
  AddressMap::remove(old_block, 1);
  // mremap() takes one mapping, not two. And a block that grows is used.
  allow_huge_pages(reinterpret_cast<char*>(&large), old_bytes);
  char* memory = remap(reinterpret_cast<char*>(&large), old_bytes, new_bytes);
  Large* now = memory != nullptr ? reinterpret_cast<Large*>(memory) : &large;
  if (memory != nullptr) {
    now->bytes = new_bytes;
    now->block = memory + offset;
    count(*heap, new_bytes, old_bytes);  // the difference
  }
  // An entry in a new table may need memory; the old one's exists already.
  if (!AddressMap::add(now->block, 1, now))
    die("realloc(): no memory for the table of", now);
  return memory != nullptr ? now->block : nullptr;
}

}  // namespace mpc::heap
