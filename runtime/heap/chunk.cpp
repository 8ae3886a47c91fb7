#include "runtime/heap/chunk.h"

#include <new>

namespace mpc::heap {

Chunk* Chunk::make(Heap* heap, size_t bytes, size_t reserved, bool is_huge,
                   int node) noexcept {
  char* memory = map(bytes, kSlotBytes, Commit::kUncounted);
  if (memory == nullptr) return nullptr;
  if (is_huge) {
    allow_huge_pages(memory, bytes);
  } else {
    refuse_huge_pages(memory, bytes);
  }
  prefer_node(memory, bytes, node);
  Chunk* chunk = make_at(memory, heap, bytes, reserved);
  if (chunk == nullptr) {
    unmap(memory, bytes);
    return nullptr;
  }
  chunk->is_huge_ = is_huge;
  return chunk;
}

Chunk* Chunk::make_at(char* memory, Heap* heap, size_t bytes,
                      size_t reserved) noexcept {
  auto* chunk = ::new (memory) Chunk;
  chunk->kind = RegionKind::kChunk;
  chunk->heap = heap;
  chunk->bytes = bytes;
  chunk->count_ = static_cast<uint32_t>(bytes / kGranuleBytes);
  chunk->table_ = static_cast<uint32_t>(round_up(sizeof(Chunk) + reserved, 64));
  // A heap's first chunk: its tables share one page, and entries for what the page does not
  // cover are never touched. A page for each rank is worth some address space.
  if (reserved > 0)
    chunk->count_ =
        static_cast<uint32_t>((kPageBytes - chunk->table_) / sizeof(uint16_t));
  chunk->first_ = static_cast<uint32_t>(
      round_up(chunk->table_ + chunk->count_ * sizeof(uint16_t), kGranuleBytes) /
      kGranuleBytes);
  // Ranks that run the same program have the same blocks; at the same offset in a page they would
  // compete for the same lines of a core's first-level cache.
  if (reserved > 0)
    chunk->first_ +=
        static_cast<uint32_t>(reinterpret_cast<uintptr_t>(memory) / kSlotBytes % 4);
  chunk->used_ = 0;
  chunk->is_huge_ = false;
  for (uint32_t g = 0; g < chunk->first_; ++g) chunk->owners()[g] = kFree;
  chunk->make_free(chunk->first_, chunk->count_ - chunk->first_, true);
  return AddressMap::add(memory, bytes, chunk) ? chunk : nullptr;
}

void Chunk::destroy() noexcept {
  AddressMap::remove(this, bytes);
  unmap(begin(), bytes);
}

FreeRun* Chunk::make_free(uint32_t first, uint32_t granules, bool is_clean) noexcept {
  FreeRun* run = run_at(first);
  run->next = nullptr;
  run->link = nullptr;
  run->granules = granules;
  run->is_clean = is_clean;
  const auto mark = static_cast<uint16_t>(kFree | first);
  owners()[first] = mark;
  owners()[first + granules - 1] = mark;
  return run;
}

FreeRun* Chunk::cut(FreeRun* run, uint32_t granules) noexcept {
  const uint32_t first = granule_of(run);
  const uint32_t left = run->granules - granules;
  const bool is_clean = run->is_clean;
  FreeRun* rest = left > 0 ? make_free(first + granules, left, is_clean) : nullptr;
  for (uint32_t g = first; g < first + granules; ++g)
    owners()[g] = static_cast<uint16_t>(first);
  used_ += granules;
  return rest;
}

}  // namespace mpc::heap
