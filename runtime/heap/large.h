#pragma once
// Large: the mapping of one large block.
//
// Role:      the header at the beginning of such a mapping.
// Users:     runtime/heap/heap.cpp, runtime/heap/large_blocks.cpp, runtime/heap/malloc.cpp.
// Threads:   the thread that has the block.
// See also:  runtime/heap/large_blocks.h.

#include <cstddef>

#include "runtime/heap/region.h"

namespace mpc::heap {

struct Large : Region {
  char* block;   // the address that the program has
  bool is_kept;  // freed, and retained by its heap

  size_t usable_bytes() const noexcept {
    return bytes - static_cast<size_t>(block - reinterpret_cast<const char*>(this));
  }
  // Unmaps it, itself included.
  void destroy() noexcept;
};

}  // namespace mpc::heap
