#pragma once
// EagerPool: buffers for messages whose sender does not wait for the receiver.
//
// Role:      saves a malloc per small message: blocks of a few sizes, stored by the rank
//            that filled them and returned by the thread that emptied them.
// Users:     runtime/message: senders (eager messages), lock holders (unexpected ones).
// Threads:   any; the rank's executions and lock holders take turns by a try-lock, other threads
//            return blocks through a lock-free stack.
// See also:  docs/messages.md (protocols).

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/mpsc_stack.h"
#include "base/spin_lock.h"
#include "runtime/message/request.h"

namespace mpc::msg {

class EagerPool;

// For a message of another process, see parcel.h.
struct ParcelHead {
  uint64_t bulk;  // the net's name for the data; 0: they are here
  uint64_t id;    // of the message, in the process that it comes from
  int32_t from;
  bool is_awaited;  // its sender waits until it is matched
  // Does another process wait to hear what becomes of it?
  bool expects_answer() const noexcept { return is_awaited || bulk != 0; }
};

// An eager message: its envelope, then its packed data.
struct alignas(64) Block : Entry {
  EagerPool* owner;  // where it is returned; null: to the heap
  Block* next_free;
  int size_class;
  uint64_t ticket;  // identifies the message in its mailbox, see Mailbox::ticket_of()
  ParcelHead head;  // kParcel only
  char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
};

class EagerPool {
 public:
  // Largest message that fits.
  static constexpr size_t kMaxBytes = 64u << 10;
  // A rank stores at most this much of each size for reuse.
  static constexpr size_t kKeptBytesPerClass = 64u << 10;

  // Longer messages are long; a rank sends only a bounded amount of them ahead of its receivers.
  static constexpr size_t kLongBytes = 8u << 10;
  static constexpr size_t kMostLongBytes = 1u << 20;

  EagerPool() = default;
  EagerPool(const EagerPool&) = delete;
  EagerPool& operator=(const EagerPool&) = delete;
  ~EagerPool();

  // The memory that a message of this length takes in its block.
  static size_t memory_of(size_t bytes) noexcept {
    return sizeof(Block) + (kSmallest << class_of(bytes));
  }
  // Caller: any. Never null: if there is no memory the process ends.
  Block* take(size_t bytes);
  // Is less than kMostLongBytes under way in long blocks?
  // A hint: simultaneous senders may exceed it.
  bool may_take_long() const noexcept {
    return long_bytes_.load(std::memory_order_relaxed) < kMostLongBytes;
  }
  // Caller: any execution of any rank. The pool outlives its blocks.
  static void give_back(Block* block) noexcept;
  // Frees the blocks that are not in use. Caller: only when no thread takes blocks any more.
  void clear() noexcept;

 private:
  static constexpr int kClasses = 11;  // 64 B ... 64 KiB
  static constexpr size_t kSmallest = 64;

  static int class_of(size_t bytes) noexcept {
    if (bytes <= kSmallest) return 0;
    return static_cast<int>(std::bit_width(bytes - 1) - std::bit_width(kSmallest - 1));
  }
  static bool is_long(int size_class) noexcept {
    return kSmallest << size_class > kLongBytes;
  }
  Block* make(int size_class, EagerPool* owner);
  void collect() noexcept MPC_REQUIRES(lock_);

  // Only tried: several kernel threads of one rank may contend for it, and then all but one
  // do without the pool.
  SpinLock<> lock_;
  // Blocks that other threads have returned.
  MpscStack<Block, &Block::next_free> returned_;
  Block* free_[kClasses] MPC_GUARDED_BY(lock_) = {};
  size_t free_counts_[kClasses] MPC_GUARDED_BY(lock_) = {};
  // Bytes of long blocks that are taken and not returned. Relaxed: only a bound.
  std::atomic<size_t> long_bytes_{0};
};

}  // namespace mpc::msg
