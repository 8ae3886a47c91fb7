#pragma once
// Thread heap: the heap that the calling thread allocates from.
//
// Role:      gives each thread a heap of its owner: one that a thread of the same owner has left
//            behind when it ended, with all that still lives in it, else a new one.
// Users:     runtime/heap/malloc.cpp.
// Threads:   any; nothing waits.
// See also:  base/rank_heap.h (what the runtime calls), runtime/heap/owner.h.

#include "runtime/heap/heap.h"

namespace mpc::heap {

// The calling thread's heap, made at its first allocation; null only if there is no memory.
// Follows FS base, so a user-level thread has its own.
extern thread_local constinit Heap* t_heap __attribute__((tls_model("initial-exec")));
Heap* make_thread_heap() noexcept;
inline Heap* thread_heap() noexcept {
  return t_heap != nullptr ? t_heap : make_thread_heap();
}

// The calling thread allocates for this rank from now on.
void enter_owner(int rank, int node) noexcept;

}  // namespace mpc::heap
