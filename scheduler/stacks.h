#pragma once
// StackArena: the stacks of all user-level threads, and what lies between them.
//
// Role:      reserves address space in large pieces without committing memory, and makes the
//            low end of each stack inaccessible, as widely as the system's limits allow: a frame
//            that leaves its stack must hit a guard and not another stack.
// Users:     scheduler; crash reports (is_stack_guard).
// Threads:   any (locked), except is_guard() and guard_bytes(): signal handlers too.
// See also:  docs/design/0016-stack-guards.md; MADV_GUARD_INSTALL in madvise(2).

#include <atomic>
#include <cstddef>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_safety.h"

namespace mpc::sched {

class StackArena {
 public:
  explicit StackArena(size_t stack_bytes) noexcept;
  ~StackArena();
  StackArena(const StackArena&) = delete;

  // One page more than a round number, so that the tops of stacks, which ranks use most, do not
  // fall into the same sets of caches and translation buffers.
  static constexpr size_t kWidestGuardBytes = (64u << 20) + 4096;
  static constexpr size_t kLeastGuardBytes = 64u << 10;

  size_t stack_bytes() const noexcept { return stack_bytes_; }

  static constexpr int kAnyNode = -1;

  // Returns the lowest usable address of a stack of stack_bytes(). Its memory is zero and comes
  // from the NUMA node (the system's number) if that has some left.
  // Errors: kNoMem with the limit that was hit.
  Result<char*> allocate(int node = kAnyNode);
  // Returns the stack's memory to the system; the address space is reused.
  void release(char* stack) noexcept;

  // Is `address` in the guard of one of our stacks? Caller: any, signal handlers included.
  bool is_guard(const void* address) const noexcept;
  // Width of the guard below a stack of ours. Caller: as before.
  size_t guard_bytes(const char* stack) const noexcept;

  // For tests: at most this many further stacks get wide guards,
  // if another kind of guard is available.
  void limit_wide_guards(size_t count) noexcept {
    const Locked lock(lock_);
    if (can_mark_) wide_left_ = count;
  }

 private:
  // Slots of one size: each is a guard with its stack above.
  struct Piece {
    char* base;
    size_t slot_count, guard_bytes;
    size_t used;
    int node;
    bool
        is_wide;  // one mapping per guard and per stack; else marks in one mapping for all
  };
  struct Free {
    char* stack;
    int node;
  };
  Piece* piece_with_room(int node, bool is_wide) MPC_REQUIRES(lock_);
  const Piece* piece_of(const void* address) const noexcept;
  Result<> add_piece(int node, bool is_wide) MPC_REQUIRES(lock_);
  bool map_piece(Piece& piece) const noexcept;
  Result<char*> take_slot(int node, bool is_wide) MPC_REQUIRES(lock_);
  size_t slot_bytes(const Piece& piece) const noexcept {
    return piece.guard_bytes + stack_bytes_;
  }

  static constexpr size_t kMaxPieces = 64;
  const size_t stack_bytes_;
  const size_t wide_guard_bytes_;
  const bool can_mark_;  // MADV_GUARD_INSTALL is available
  Mutex lock_;
  size_t wide_left_
      MPC_GUARDED_BY(lock_);  // stacks that may still get mappings of their own
  std::vector<Free> free_ MPC_GUARDED_BY(lock_);
  // Written under the lock; all members but `used` before piece_count_ publishes the piece.
  Piece pieces_[kMaxPieces];
  std::atomic<size_t> piece_count_{0};
};

// Is `address` in the guard of a stack of any arena? Caller: any, signal handlers included.
bool is_stack_guard(const void* address) noexcept;

}  // namespace mpc::sched
