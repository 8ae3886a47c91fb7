#pragma once
// Owner: the rank, or the process itself, to which a heap belongs.
//
// Role:      the heaps of one owner, and its figures. A heap that threads of a rank leave is never
//            reused by another rank.
// Users:     runtime/heap.
// Threads:   any; nothing waits.
// See also:  runtime/heap/thread_heap.h (takes and leaves heaps).

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mpc::heap {

class Heap;

constexpr int kMaxRanks = 100000;  // as in mpcrun
constexpr int kProcess = -1;       // the owner for threads that belong to no rank

struct alignas(64) Owner {
  std::atomic<Heap*> heaps{nullptr};   // all that were ever created
  std::atomic<uintptr_t> idle{0};      // those that no thread has: first chunk + tag
  std::atomic<size_t> large_bytes{0};  // a figure only: relaxed
  std::atomic<int> node_plus_1{0};

  int node() const noexcept { return node_plus_1.load(std::memory_order_relaxed) - 1; }
  int rank() const noexcept;  // or kProcess
};

Owner& owner_of(int rank) noexcept;

}  // namespace mpc::heap
