#pragma once
// Thread heap: the heap that the calling thread allocates from.
//
// Role:      gives each thread a heap of its owner: one that a thread of the same owner has left
//            behind when it ended, with everything that still lives in it, else a new one.
// Users:     runtime/heap/malloc.cpp.
// Threads:   any; nothing waits.
// See also:  base/rank_heap.h (called by the runtime), runtime/heap/owner.h.

#include "runtime/heap/heap.h"

namespace mpc::heap {

// The calling thread's heap, created at its first allocation; null only if there is no memory.
// Follows the FS base, so a user-level thread has its own.
extern thread_local constinit Heap* t_heap __attribute__((tls_model("initial-exec")));
Heap* make_thread_heap() noexcept;
inline Heap* thread_heap() noexcept {
  return t_heap != nullptr ? t_heap : make_thread_heap();
}

// From now on the calling thread allocates for this rank.
void enter_owner(int rank, int node) noexcept;

}  // namespace mpc::heap
