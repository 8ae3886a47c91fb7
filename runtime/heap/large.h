#pragma once
// Large blocks: a mapping each, with huge pages where the system has them.
//
// Role:      arrays of megabytes, one page-table entry for 2 MiB; their memory goes back to the
//            system when they are freed, but for what the heap keeps for the next one.
// Users:     runtime/heap/malloc.cpp, runtime/heap/heap.cpp.
// Threads:   allocate() for the caller's heap; the rest by anyone, once for each block.
// See also:  docs/design/0017-heaps.md.

#include <cstddef>

#include "runtime/heap/heap.h"

namespace mpc::heap {

struct Large : Region {
  char* block;   // what the program has
  bool is_kept;  // freed, and kept by its heap

  size_t usable_bytes() const noexcept {
    return bytes - static_cast<size_t>(block - reinterpret_cast<const char*>(this));
  }
  void destroy() noexcept;

  // Null: no memory. `is_zero`: the memory is fresh.
  static void* allocate(Heap& heap, size_t bytes, size_t alignment,
                        bool* is_zero) noexcept;
  // `own`: the caller's heap, or null.
  static void release(Large& large, void* pointer, Heap* own) noexcept;
  // The same block with another length, perhaps elsewhere. Null: not possible, nothing changed.
  static void* resize(Large& large, size_t bytes) noexcept;
};

}  // namespace mpc::heap
