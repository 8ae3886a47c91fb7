#pragma once
// Chunk: address space of one heap, cut into runs of granules.
//
// Role:      allocates and frees runs (of granules of 1 KiB each), joining free neighbours; a
//            run is a span of small blocks or one medium block.
// Users:     runtime/heap/heap.cpp.
// Threads:   the thread that has the heap.
// See also:  docs/design/0017-heaps.md.
//
//    slot                                                                       end of chunk
//    | Region | Chunk | Heap (first chunk) | owner_of_[] | run | run | free run | run ...
//
// owner_of_[g] is the first granule of the run in use that g belongs to. For the first and the
// last granule of a free run it is kFree plus the run's first granule; inside free runs it
// is undefined.

#include <cstddef>
#include <cstdint>

#include "runtime/heap/region.h"

namespace mpc::heap {

constexpr size_t kGranuleBytes = 1024;
constexpr size_t kMaxChunkBytes = size_t{32} << 20;  // granule numbers have 15 bits

// At the beginning of a free run.
struct FreeRun {
  FreeRun* next;
  FreeRun** link;  // the pointer that points here
  uint32_t granules;
  bool is_clean;  // but for this struct it is zero: never written, or given back
};

class Chunk : public Region {
 public:
  // Maps a chunk; `reserved` bytes after this struct belong to the caller. Its one free run is
  // in no list yet. Null: no memory.
  static Chunk* make(Heap* heap, size_t bytes, size_t reserved, bool is_huge,
                     int node) noexcept;
  // The same in memory that is mapped already.
  static Chunk* make_at(char* memory, Heap* heap, size_t bytes,
                        size_t reserved) noexcept;
  void destroy() noexcept;

  char* reserved() noexcept { return reinterpret_cast<char*>(this + 1); }
  FreeRun* only_run() noexcept { return run_at(first_); }
  bool is_empty() const noexcept { return used_ == 0; }
  bool is_huge() const noexcept { return is_huge_; }

  // The run in use that contains this address; null if it is not in use.
  char* run_of(const void* address) noexcept {
    const uint16_t owner = owners()[granule_of(address)];
    return (owner & kFree) == 0 ? at(owner) : nullptr;
  }

  // Takes the first granules of a free run that is in no list. Returns the remainder,
  // which the caller puts into a list, or null.
  FreeRun* cut(FreeRun* run, uint32_t granules) noexcept;
  // Frees a run in use; the free neighbours, which `unlist` removes from their lists,
  // become part of it. Returns the whole, which is in no list.
  template <class Unlist>
  FreeRun* join(char* run, uint32_t granules, Unlist unlist) noexcept;

  Chunk* next = nullptr;  // of the heap

 private:
  static constexpr uint16_t kFree = 0x8000;

  uint16_t* owners() noexcept { return reinterpret_cast<uint16_t*>(begin() + table_); }
  char* begin() noexcept { return reinterpret_cast<char*>(this); }
  char* at(uint32_t granule) noexcept { return begin() + granule * kGranuleBytes; }
  FreeRun* run_at(uint32_t granule) noexcept {
    return reinterpret_cast<FreeRun*>(at(granule));
  }
  uint32_t granule_of(const void* address) noexcept {
    return static_cast<uint32_t>(
        static_cast<size_t>(static_cast<const char*>(address) - begin()) /
        kGranuleBytes);
  }
  FreeRun* make_free(uint32_t first, uint32_t granules, bool is_clean) noexcept;

  uint32_t table_;  // where owner_of_[] begins
  uint32_t first_;  // granule after the tables
  uint32_t count_;  // granules of the chunk
  uint32_t used_;   // granules of runs in use
  bool is_huge_;
};

template <class Unlist>
FreeRun* Chunk::join(char* run, uint32_t granules, Unlist unlist) noexcept {
  uint32_t first = granule_of(run);
  uint32_t end = first + granules;
  used_ -= granules;
  if (first > first_ && (owners()[first - 1] & kFree) != 0) {
    first = owners()[first - 1] & ~uint32_t{kFree};
    unlist(run_at(first));
  }
  if (end < count_ && (owners()[end] & kFree) != 0) {
    FreeRun* behind = run_at(end);
    end += behind->granules;
    unlist(behind);
  }
  return make_free(first, end - first, false);
}

}  // namespace mpc::heap
