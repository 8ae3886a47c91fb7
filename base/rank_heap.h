#pragma once
// Rank heap: what the runtime tells the allocator, if mpcrun has put it in place.
//
// Role:      the functions between libmpi_abi and libmpc_heap, which is a library of its own
//            so that it can be left out (job.allocator, another allocator, a sanitizer).
// Users:     runtime/heap defines it; runtime/job and runtime/interpose call it.
// Threads:   any.
// See also:  docs/design/0017-heaps.md.

extern "C" {
// The calling thread allocates from memory of this rank from now on, which lies on this NUMA node
// (-1: as it was said before, else anywhere). Cost: some us at the first time.
__attribute__((weak, visibility("default"))) void mpc_heap_enter_rank(int rank,
                                                                      int node);
// The rank from whose memory this address was allocated; -1: none.
__attribute__((weak, visibility("default"))) int mpc_heap_rank_of(const void* address);
}

namespace mpc {

// Caller: a thread of the rank, first of all.
inline void enter_rank_heap(int rank, int node) noexcept {
  if (&mpc_heap_enter_rank != nullptr) mpc_heap_enter_rank(rank, node);
}
inline bool has_rank_heaps() noexcept { return &mpc_heap_enter_rank != nullptr; }

// -1 also without heaps of the ranks.
inline int rank_of_heap(const void* address) noexcept {
  return &mpc_heap_rank_of != nullptr ? mpc_heap_rank_of(address) : -1;
}

}  // namespace mpc
