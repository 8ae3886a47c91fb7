#pragma once
// Owner: a rank, or the process itself, as the one whose memory a heap is.
//
// Role:      gives each thread a heap of its owner: one that a thread of the same owner has left
//            behind when it ended, with all that still lives in it, else a new one. So what
//            threads of a rank leave is never continued by another rank.
// Users:     runtime/heap/malloc.cpp.
// Threads:   any; nothing waits.
// See also:  base/rank_heap.h (what the runtime calls).

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/heap/heap.h"

namespace mpc::heap {

constexpr size_t kFirstChunkBytes = kSlotBytes;
constexpr int kMaxRanks = 100000;  // as mpcrun has it
constexpr int kProcess = -1;       // the owner of threads that belong to no rank

struct alignas(64) Owner {
  std::atomic<Heap*> heaps{nullptr};   // all that were ever made
  std::atomic<uintptr_t> idle{0};      // those that no thread has: first chunk + tag
  std::atomic<size_t> large_bytes{0};  // a figure only: relaxed
  std::atomic<int> node_plus_1{0};

  int node() const noexcept { return node_plus_1.load(std::memory_order_relaxed) - 1; }
  int rank() const noexcept;  // or kProcess
};

Owner& owner_of(int rank) noexcept;

// The calling thread's heap, made at its first allocation; null only if there is no memory.
// Follows FS base, so a user-level thread has its own.
extern thread_local constinit Heap* t_heap __attribute__((tls_model("initial-exec")));
Heap* make_thread_heap() noexcept;
inline Heap* thread_heap() noexcept {
  return t_heap != nullptr ? t_heap : make_thread_heap();
}

// The calling thread allocates for this rank from now on.
void enter_owner(int rank, int node) noexcept;

// kFirstChunkBytes of zeroed memory for the first chunk of a heap. Null: no memory.
char* take_first_chunk() noexcept;

}  // namespace mpc::heap
