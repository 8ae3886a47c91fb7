#pragma once
// Segment: the memory in which a process receives messages from the others of its host.
//
// Role:      a memory without a name, with a ring for each process that may send; and a bell, by
//            which senders wake the process if it sleeps. Other processes of the same user find both
//            through /proc; when the last process that has mapped it ends it is gone.
// Users:     runtime/transport/host/host_net.
// Threads:   create and open by one thread, before messages; the rest see each function.
// See also:  docs/design/0047-host-segment.md.
//
//   | SegmentHead | ring of process 0 | ring of process 1 | ...     each begins on a page of its own
//
// A ring's memory is touched only if its sender is a process of this host.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/transport/host/other_memory.h"
#include "runtime/transport/host/ring.h"
#include "runtime/transport/host/shared_memory.h"

namespace mpc::transport::host {

// How others find a segment: plain numbers, part of a process's address.
struct SegmentName {
  Mark mark;  // random, also in the segment
  DescriptorName memory;
  DescriptorName bell;   // the end of a pipe
  uint64_t senders = 0;  // number of processes that have a ring; 0: there is no segment
};

struct SegmentHead {
  Mark mark;
  RingShape shape;
  uint64_t mark_address;  // where the owner has the mark in its own memory
  // 4 n + kAwake, kAsleep or kRung: the receiver sleeps for the n-th time. See Sleeper.
  alignas(kLineBytes) std::atomic<uint32_t> sleep;
  // Something comes from a process of this host through the network below: a hint.
  alignas(kLineBytes) std::atomic<uint32_t> knock;
};
inline constexpr uint32_t kAwake = 0, kAsleep = 1, kRung = 2, kSleepStates = 4;

// Wakes the owner if it sleeps. `bell`: the end of its pipe that is written. False: it cannot be.
bool ring_bell(SegmentHead& head, const Descriptor& bell) noexcept;

// The own segment.
class Inbox {
 public:
  // Null: the system has none. `neighbours`: number of processes of this host, for the size of rings.
  static std::unique_ptr<Inbox> make(int processes, int neighbours);

  SegmentName name() const noexcept;
  RingReader reader_of(int process) noexcept;
  // Readable after a sender has rung.
  int descriptor() const noexcept { return bell_.number(); }

  // The caller is about to sleep. Whatever the readers' has_mail(seq_cst) does not show afterwards
  // will ring. Caller: one thread at a time, as wake_up().
  void begin_sleep() noexcept;
  void wake_up() noexcept;
  // There is something to do that no sender will ring for. Caller: any, after it has been made visible
  // (seq_cst): pairs with begin_sleep(). Cost: a system call if the owner sleeps.
  void ring_own() noexcept;
  // Has a sender knocked since the last call?
  bool take_knock() noexcept {
    std::atomic<uint32_t>& knock = head().knock;
    if (knock.load(std::memory_order_relaxed) == 0) [[likely]]
      return false;
    knock.store(0, std::memory_order_relaxed);
    return true;
  }
  bool sleeps() const noexcept {
    return sleep_.load(std::memory_order_relaxed) % kSleepStates != kAwake;
  }

 private:
  Inbox() = default;
  SegmentHead& head() const noexcept {
    return *static_cast<SegmentHead*>(pages_.base());
  }

  RingShape shape_;
  int processes_ = 0;
  Pages pages_;
  Descriptor memory_, bell_, bell_in_;
  std::atomic<uint32_t> sleep_{0};  // as in the segment, which others write as well
};

// The ring to another process, in its segment.
class Outbox {
 public:
  // `own`: the number of the calling process. Null: its segment cannot be opened from here.
  static std::unique_ptr<Outbox> open(const SegmentName& name, int own);

  RingWriter writer() noexcept { return {ring_.base(), shape_}; }
  size_t most_message_bytes() const noexcept { return shape_.most_message_bytes(); }
  const OtherMemory& memory() const noexcept { return memory_; }
  // Does the receiver sleep, and has no sender woken it? Caller: any, after a write(): pairs with
  // begin_sleep().
  bool must_ring() const noexcept {
    return head_->sleep.load(std::memory_order_seq_cst) % kSleepStates == kAsleep;
  }
  // Says that something comes through the network below, which wakes a sleeper itself.
  void knock() noexcept { head_->knock.store(1, std::memory_order_relaxed); }
  // False: the bell cannot be rung. Caller: any. Cost: a system call.
  bool ring() noexcept;

 private:
  Outbox() = default;
  RingShape shape_;
  Pages head_pages_, ring_;
  SegmentHead* head_ = nullptr;
  OtherMemory memory_;
  Descriptor bell_;
};

}  // namespace mpc::transport::host
