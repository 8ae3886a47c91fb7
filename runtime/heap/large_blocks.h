#pragma once
// Large blocks: a mapping each, with huge pages behind their beginning where the system has them.
//
// Role:      arrays of megabytes, one page-table entry for 2 MiB; their memory is returned to the
//            system when they are freed, except for what the heap retains for the next one.
// Users:     runtime/heap/malloc.cpp.
// Threads:   allocate_large() for the caller's heap; the others any, once for each block.
// See also:  docs/design/0017-heaps.md.

#include <cstddef>

#include "runtime/heap/heap.h"
#include "runtime/heap/large.h"

namespace mpc::heap {

// Null: no memory. `is_zero`: the memory is fresh.
void* allocate_large(Heap& heap, size_t bytes, size_t alignment,
                     bool* is_zero) noexcept;
// `own`: the caller's heap, or null.
void release_large(Large& large, void* pointer, Heap* own) noexcept;
// Gives the block another length, perhaps at another address. Null: not possible, nothing changed.
void* resize_large(Large& large, size_t bytes) noexcept;

}  // namespace mpc::heap
