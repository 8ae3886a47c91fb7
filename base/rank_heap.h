#pragma once
// Rank heap: tells the allocator about ranks, if mpcrun has loaded it.
//
// Role:      the functions between libmpi_abi and libmpc_heap, which is a library of its own
//            so that it can be left out (job.allocator, another allocator, a sanitizer).
// Users:     runtime/heap defines it; runtime/job and runtime/interpose call it.
// Threads:   any.
// See also:  docs/design/0017-heaps.md.

extern "C" {
// From now on the calling thread allocates from memory of this rank, which lies on this NUMA node
// (-1: the node given before, else any). Cost: some us at the first call.
__attribute__((weak, visibility("default"))) void mpc_heap_enter_rank(int rank,
                                                                      int node);
// The rank from whose memory this address was allocated; -1: none.
__attribute__((weak, visibility("default"))) int mpc_heap_rank_of(const void* address);
}

namespace mpc {

// Caller: a thread of the rank, before anything else.
inline void enter_rank_heap(int rank, int node) noexcept {
  if (&mpc_heap_enter_rank != nullptr) mpc_heap_enter_rank(rank, node);
}
inline bool has_rank_heaps() noexcept { return &mpc_heap_enter_rank != nullptr; }

// Also -1 without rank heaps.
inline int rank_of_heap(const void* address) noexcept {
  return &mpc_heap_rank_of != nullptr ? mpc_heap_rank_of(address) : -1;
}

}  // namespace mpc
