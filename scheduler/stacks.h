#pragma once
// StackArena: the stacks of all user-level threads, in few memory mappings.
//
// Role:      reserves address space in large pieces without committing memory, and protects
//            the low end of each stack with guard pages; with the lightweight guards of
//            Linux 6.13 a piece stays one mapping whatever its number of stacks.
// Users:     scheduler only.
// Threads:   any (locked), except is_guard(): signal handlers too.
// See also:  docs/scheduler.md section "Stacks"; MADV_GUARD_INSTALL in madvise(2).

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "base/result.h"

namespace mpc::sched {

class StackArena {
 public:
  explicit StackArena(size_t stack_bytes) noexcept;
  ~StackArena();
  StackArena(const StackArena&) = delete;

  // More than one page: a frame with a large local array must not step over it.
  static constexpr size_t kGuardBytes = 64 * 1024;

  size_t stack_bytes() const noexcept { return stack_bytes_; }

  static constexpr int kAnyNode = -1;

  // Lowest usable address of a stack of stack_bytes(), whose memory is zero and comes from
  // the NUMA node (the system's number) if that has some left.
  // Errors: kNoMem with the limit that was hit.
  Result<char*> allocate(int node = kAnyNode);
  // Gives the stack's memory back to the system; the address space is reused.
  void release(char* stack) noexcept;

  // Is `address` in the guard of one of our stacks? Caller: any, signal handlers included.
  bool is_guard(const void* address) const noexcept;

 private:
  struct Piece {
    char* base;
    size_t slot_count;
    size_t used;
    int node;
  };
  struct Free {
    char* stack;
    int node;
  };
  Piece* piece_with_room(int node);
  const Piece* piece_of(const void* address) const noexcept;
  Result<> add_piece(int node);
  Result<> protect(char* guard);
  size_t slot_bytes() const noexcept;

  static constexpr size_t kMaxPieces = 64;
  const size_t stack_bytes_;
  mutable std::mutex lock_;
  std::vector<Free> free_;
  Piece pieces_[kMaxPieces];
  std::atomic<size_t> piece_count_{0};
};

}  // namespace mpc::sched
