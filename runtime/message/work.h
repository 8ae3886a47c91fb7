#pragma once
// Work: what a match leaves to do once the mailbox's lock is released.
//
// Role:      copies of data and completions, collected under the lock, done after it. Starting
//            an operation from a completion's callback adds to the list that is being processed
//            instead of going deeper into the stack.
// Users:     runtime/message.
// Threads:   lives on the stack of one execution.
// See also:  runtime/message/mailbox.h.

#include <cstdint>
#include <utility>

#include "base/spin_lock.h"
#include "base/traffic.h"
#include "runtime/message/request.h"

namespace mpc::msg {

struct Mailbox;

class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Caller: holds the mailbox's lock. `receive` is out of its queue, its status is filled.
  void add_completion(Operation& receive) noexcept;
  // The same, but at once if nothing else follows from it: nobody waits for this receive alone, no callback. Afterwards
  // `receive` is touched no more.
  void complete_or_add(Operation& receive) noexcept;
  // `receive` must be filled from `message` (a Block, or the sender's Operation).
  void add_copy(Operation& receive, Entry& message) noexcept;
  // Adds a copy that is already counted in Mailbox::copies; the list makes the copy.
  void add_begun(Operation& receive, Entry& message) noexcept;
  // `receive` has been filled already, without the lock; the caller has counted it in
  // Mailbox::copies.
  void add_filled(Operation& receive) noexcept;
  // The same after add_copy(), whose data another process has sent meanwhile.
  void add_fetched(Operation& receive) noexcept { append(receive, nullptr); }
  // Like add_filled(), for a receive that is just being started and
  // has never been in a queue. Caller: holds no lock.
  void complete_filled(Operation& receive) noexcept;
  // The data of `send` have been copied away. Caller: holds the receiver's lock.
  void add_sent(Operation& send) noexcept;
  // A message has come that an execution parked in wait_until() may be waiting for.
  void add_news(Mailbox& mailbox) noexcept { news_ = &mailbox; }
  // The same, for a list that has work for several mailboxes: the caller notifies the owner.
  Mailbox* take_news() noexcept { return std::exchange(news_, nullptr); }
  bool empty() const noexcept { return first_ == nullptr && news_ == nullptr; }
  // Copies, completes, calls back. Caller: holds no lock. Switches: no.
  void run() noexcept;

  // Makes this the list to which all work of this execution is added, until end_collecting()
  // has run it. False: there is such a list already.
  bool begin_collecting() noexcept;
  void end_collecting() noexcept;

 private:
  void append(Operation& receive, Entry* message) noexcept;
  void run_all() noexcept;
  bool keeps_copies_ = false;

  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
  Mailbox* news_ = nullptr;
};

inline void Work::complete_or_add(Operation& receive) noexcept {
  uint32_t expected = kActive;
  // Release pairs with is_complete().
  if (receive.on_complete != nullptr || receive.waiter_is_preset ||
      traffic::is_watched() ||
      !receive.state.compare_exchange_strong(expected, kComplete,
                                             std::memory_order_acq_rel))
    add_completion(receive);
}

// Sets the status of a receive. Errors: kTruncate if the message is longer than the buffer.
inline void fill_status(Operation& receive, const Key& key,
                        int64_t message_bytes) noexcept {
  Status& s = receive.status;
  s.source = key.source;
  s.tag = key.tag;
  s.cancelled = false;
  s.failed = message_bytes > receive.bytes;
  s.error = Errc::kTruncate;
  s.bytes = s.failed ? receive.bytes : message_bytes;
}

// Completes the operation, wakes its waiter, calls back. Caller: holds no lock, owns the operation.
void complete(Operation& op) noexcept;
// The same for an operation that no other thread has seen yet.
inline void complete_at_start(Operation& op) noexcept {
  op.state.store(kComplete, std::memory_order_release);  // pairs with is_complete()
  if (op.on_complete != nullptr) op.on_complete(&request_of(op), op.argument);
}
// Packed bytes into the receive's buffer, cut to its capacity.
void unpack_into(Operation& receive, const void* packed, int64_t bytes) noexcept;

}  // namespace mpc::msg
