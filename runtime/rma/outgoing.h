#pragma once
// Outgoing: an operation of this member on a target in another process, until all of it has been sent.
//
// Role:      what its packets are made from, part by part; as an entry of a target's queue it waits for a lock
//            or a post.
// Users:     runtime/rma/remote_access.h.
// Threads:   plain data; one thread at a time sends it.
// See also:  docs/design/0049-queued-epochs.md.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "runtime/rma/accumulate.h"
#include "runtime/rma/port.h"

namespace mpc::rma {

// A datatype that other processes know by a number.
struct KnownType {
  KnownType(dt::TypeRef its_type, uint64_t its_number, size_t processes)
      : type(std::move(its_type)), number(its_number), by_process(processes) {}
  const dt::TypeRef type;  // so that its address stays its own
  const uint64_t number;
  std::vector<bool> by_process;  // processes that know it, by Port::index_of()
  // Operations that are being sent, or wait. Counted up under the lock of the list; down, without it, by the
  // thread that has sent the operation (release), before the other processes are told to forget the type (acquire).
  std::atomic<int> users{0};
};

// While it lives the target's process knows the type.
class TypeUse {
 public:
  TypeUse() noexcept = default;
  explicit TypeUse(KnownType& known) noexcept
      : known_(&known) {}  // counted by the caller
  TypeUse(TypeUse&& other) noexcept : known_(std::exchange(other.known_, nullptr)) {}
  TypeUse& operator=(TypeUse&&) = delete;
  ~TypeUse() {
    if (known_ != nullptr) known_->users.fetch_sub(1, std::memory_order_release);
  }

 private:
  KnownType* known_ = nullptr;
};

struct Outgoing {
  Packet head = {};  // of the next part; `offset` grows with what has been sent
  uint64_t end = 0;  // of head.offset: bytes, or elements
  TypeUse type = {};
  Buffer origin = {};                     // whose data are sent; no type: none are
  const dt::Datatype* element = nullptr;  // of accumulates
  Pending answer = {};  // what happens to it, until the first part has been sent
  // The origin's data: packed bytes, or elements; then `origin` is not read.
  std::unique_ptr<std::byte[]> copy = {};

  bool is_sent() const noexcept { return head.offset >= end; }
  bool has_answer() const noexcept {
    return head.verb != Verb::kPut && head.verb != Verb::kAccumulate;
  }
};

// The state of a target that operations wait for. They are sent by the thread that hears of the grant.
//
//   empty --lock, start, the first operation--> [ marker ... ] --grant or post--> entries are sent --> empty
struct Queue {
  enum class What : uint8_t {
    kLock,       // a marker: what is behind it waits for the grant
    kPost,       // likewise for a post of the target
    kFence,      // likewise until all members have come to a fence
    kOperation,  // an operation
    kComplete,   // the end of the epoch of a kPost
  };
  struct Entry {
    What what;
    Outgoing operation = {};
    dt::TypeRef origin_type = {};                     // keeps the origin's type
    std::shared_ptr<std::atomic<bool>> is_over = {};  // set when it has been sent
    uint64_t copied_bytes = 0;
    bool is_marker() const noexcept {
      return what == What::kLock || what == What::kPost || what == What::kFence;
    }
  };
  std::deque<Entry> entries = {};
  bool is_running =
      false;  // a thread sends the first entries, or waits for room for that
  bool is_granted = false;  // the lock
  bool has_fence = false;   // a kFence is among the entries
  uint64_t copied_bytes = 0;
};

}  // namespace mpc::rma
