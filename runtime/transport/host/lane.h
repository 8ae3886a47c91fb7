#pragma once
// Lane: messages from this process to another one of its host.
//
// Role:      writes them into the other one's segment, in the order in which they are posted; keeps
//            those that have no room there until there is room.
// Users:     runtime/transport/host/host_net.
// Threads:   any.
// See also:  runtime/transport/host/ring.h.

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/spin_lock.h"
#include "runtime/transport/host/segment.h"

namespace mpc::transport::host {

class Lane {
 public:
  explicit Lane(std::unique_ptr<Outbox> outbox) noexcept
      : outbox_(std::move(outbox)),
        slots_(outbox_->writer()),
        writer_(outbox_->writer()) {}

  size_t most_bytes() const noexcept { return outbox_->most_message_bytes(); }

  enum class Left : uint8_t { kNone, kSome };
  // The data are the caller's again. kSome: call flush() until it returns kNone.
  Left post(const Envelope& envelope, const Source& source,
            CellKind kind = CellKind::kMessage) noexcept;
  Left flush() noexcept;
  // The other process has ended: everything is dropped from now on.
  void lose() noexcept;

  bool must_ring() const noexcept { return outbox_->must_ring(); }
  bool ring() noexcept { return outbox_->ring(); }
  void knock() noexcept { outbox_->knock(); }

  // Memory of the other process.
  const OtherMemory& memory() const noexcept { return outbox_->memory(); }
  // Tells it whether this process can read that.
  void say_reads(bool reads) noexcept { slots_.say_reads(reads); }
  // Of this process's long messages to it.
  Slot& slot(int number) const noexcept { return slots_.slot(number); }

 private:
  struct Waiting {
    CellKind kind;
    Envelope envelope;
    std::vector<char> data;
  };
  [[gnu::cold]] void keep(const Envelope& envelope, const Source& source, CellKind kind)
      MPC_REQUIRES(lock_);

  const std::unique_ptr<Outbox> outbox_;
  RingWriter slots_;  // writes no messages
  // Held while a message is copied. Its holder may lose its core: others yield then.
  SpinLock<> lock_;
  RingWriter writer_ MPC_GUARDED_BY(lock_);
  std::deque<Waiting> waiting_ MPC_GUARDED_BY(lock_);
  bool is_lost_ MPC_GUARDED_BY(lock_) = false;
};

}  // namespace mpc::transport::host
