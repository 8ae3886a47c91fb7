#pragma once
// First chunk: the memory in which a heap begins.
//
// Role:      ranks cost few mappings: the first chunks of several are cut from one.
// Users:     runtime/heap/heap.cpp.
// Threads:   any; nothing waits.
// See also:  runtime/heap/chunk.h.

#include <cstddef>

#include "runtime/heap/memory.h"

namespace mpc::heap {

constexpr size_t kFirstChunkBytes = kSlotBytes;

// kFirstChunkBytes of zeroed memory for the first chunk of a heap. Null: no memory.
char* take_first_chunk() noexcept;

}  // namespace mpc::heap
