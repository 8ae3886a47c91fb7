#pragma once
// Request: one send or receive in flight, and the entry by which it is linked into a queue.
//
// Role:      the memory of an operation is the caller's; the message layer only links it.
// Users:     runtime/message; mpi and nbc/engine embed Request and see its public part.
// Threads:   the fields belong to the present owner of the operation: the starter until it is
//            queued, the holder of the mailbox's lock while it is queued, the matching side until
//            `state` says kComplete (release), its owner again after having seen that.
// See also:  runtime/message/message.h (contract), docs/messages.md (states).
//
//   kIdle --start--> kActive --wait arms--> kWaited
//                      |                       |
//                      | completer (CAS)       | completer (exchange): kCompleting, wakes
//                      v                       v
//                   kComplete <------- kCompleting (a few ns: the waiter is being woken; or a
//                                      large copy, during which the waiter wakes up)

#include <atomic>
#include <cstdint>

#include "base/mpi_constants.h"
#include "base/result.h"
#include "runtime/datatype/datatype.h"
#include "runtime/transport/completion.h"
#include "scheduler/progress/progress.h"

namespace mpc::msg {

using dt::Count;
inline constexpr int kAnySource = abi::kAnySource;
inline constexpr int kAnyTag = abi::kAnyTag;

// Separates the traffic of communicators, and within each of them user point-to-point (even)
// from collectives (odd). Unique in the job.
using ContextId = uint32_t;

enum class Mode : uint8_t { kStandard, kSynchronous, kBuffered, kReady };

struct Status {
  int source = kAnySource;  // the sender's number for itself in the communicator
  int tag = kAnyTag;
  Errc error{};  // valid if failed
  bool failed = false;
  bool cancelled = false;
  int64_t bytes = 0;
};

class Request;
// Called once by the thread that completes the request, on any execution, without locks held.
// Short: may start further operations and unpark, must not wait. After it has been called the
// runtime no longer touches the request. is_complete() may be true a little before the call: code
// that sets a callback frees the request only after the callback has run.
using CompletionFn = void (*)(Request*, void* argument);

// A reduction into or out of a receive's buffer, done while the data pass through the cache of
// the core that copies them. It is offered long contiguous messages that fill the buffer.
struct FusedReduction {
  // Copies `data` (the message, in the sender's memory) into the receive's buffer, and reduces.
  // False: nothing was done, and the data are copied as usual.
  bool (*take)(Request*, void* argument, const void* data) noexcept;
};

struct Mailbox;
struct Waiter;
struct Block;

// The key of matching. In a receive, source and tag may be wildcards.
struct Key {
  ContextId context;
  int source;
  int tag;
  friend bool operator==(const Key&, const Key&) = default;
};

// Context and source of a key, in one register.
class Origin {
 public:
  constexpr Origin(ContextId context, int source) noexcept
      : bits_(uint64_t{context} | uint64_t{static_cast<uint32_t>(source)} << 32) {}
  constexpr ContextId context() const noexcept { return static_cast<ContextId>(bits_); }
  constexpr int source() const noexcept { return static_cast<int>(bits_ >> 32); }

 private:
  uint64_t bits_;
};

struct Operation;
// The copy of a receive as a piece of background work.
struct BackgroundCopy : sched::ProgressItem {
  Operation* receive;
};
// For an operation whose copy was left to a progress thread.
struct Background {
  BackgroundCopy copy;        // of a receive
  sched::ProgressItem* item;  // the receive's `copy`, in both operations
};

// For an operation whose other side lives in another process, when it is in no queue.
struct Remote {
  transport::Completion completion;  // of an offer or a fetch
  Operation* operation;
  uint64_t
      id;  // of the message in the sender's process, or of the fetch in the receiver's
  int32_t peer;
  int32_t dest_world;
  bool is_offer;
  // Of an offer, all guarded by the lock of its endpoint:
  bool is_asked;      // cancel() has asked for it; the answer has not come
  bool is_withdrawn;  // the answer: no receive will match it
  bool is_over;       // its data are no longer needed
  bool is_started;    // the net has its memory, and may be asked to forget it
};

// An element of a posted or unexpected queue.
struct Entry {
  enum Kind : uint8_t {
    kReceive,     // posted: an Operation
    kRendezvous,  // unexpected: the sender's Operation, data still in its buffer
    kBlock,       // unexpected: a Block with the data
    kParcel,  // unexpected: a Block that stands for a message of another process, see
              // parcel.h; of a send: that its receiver lives in another process
  };
  static constexpr int kPatterns = 4;  // wildcards in: nothing, source, tag, both

  Key key;
  Kind kind;
  bool queued = false;
  uint64_t order;  // of arrival in its queue
  int64_t bytes;   // message length, or capacity of a receive
  Entry*
      next[1 + kPatterns];  // [0] in order of arrival, [1 + p] in the bin of pattern p
  union {
    Entry* prev[1 + kPatterns];
    Background in_background;  // after it has left the queue; see Operation::background
    Remote remote;             // the same
  };
};
static_assert(sizeof(Background) <= sizeof(Entry::prev) &&
                  sizeof(Remote) <= sizeof(Entry::prev),
              "or requests get larger");

enum OperationState : uint32_t { kIdle = 0, kActive, kWaited, kCompleting, kComplete };

// The implementation's view of a Request.
struct Operation : Entry {
  std::atomic<uint32_t> state{kIdle};
  bool is_send = false;
  bool waiter_is_preset = false;  // a blocking call: the waiter is set from the start
  bool is_counted = false;        // in Mailbox::copies of `mailbox`
  // A small send: if there is no receive for it, it is copied away.
  bool may_buffer = false;
  bool is_orphan = false;  // a send that will never be matched: its receiver has ended
  std::atomic<bool> in_ring{false};  // a pointer to this is in `mailbox`'s ring
  // A large copy is under way, so the operation is soon complete.
  std::atomic<bool> is_copying{false};
  bool is_claimed = false;  // by the copier: kCompleting already
  bool is_woken = false;    // ... and its waiter is awake
  Status status;
  CompletionFn on_complete = nullptr;
  void* argument = nullptr;  // of on_complete and fused_reduction
  const FusedReduction* fused_reduction = nullptr;
  Waiter* waiter = nullptr;
  Mailbox* mailbox = nullptr;  // the receiver's; null: it is in another process
  Mailbox* origin = nullptr;   // the sender's; rendezvous and remote only
  void* buffer = nullptr;      // never written if is_send
  Count count = 0;
  const dt::Datatype* type = nullptr;
  // A node of a split tree's lower levels: its copy is left to no progress thread. Set before
  // the start.
  bool is_for_application = false;
  int64_t whole_bytes = 0;  // see set_whole_bytes()
  // Written by the other side's core, too. So it is next to `buffer` and
  // `type`, which that core reads, and not behind members of background
  // work only, or each large message would move one line more.
  Entry* match = nullptr;  // of a receive in a copy job
  Operation* next_work = nullptr;
  void forget_background() noexcept {
    background.store(nullptr, std::memory_order_relaxed);  // not shared yet
  }
  // The copy was left to this progress thread, as in_background.item.
  std::atomic<sched::ProgressThread*> background{nullptr};
};

// One operation in flight. Embeddable: mpi::Request and nbc nodes contain one.
// A request is idle, active or complete; start functions accept an idle or complete one.
class Request : private Operation {
 public:
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  bool is_complete() const noexcept {
    return state.load(std::memory_order_acquire) == kComplete;  // pairs with complete()
  }
  // Started and not complete.
  bool is_active() const noexcept {
    const uint32_t now = state.load(std::memory_order_acquire);
    return now != kIdle && now != kComplete;
  }
  // Valid once complete.
  const Status& status() const noexcept { return Operation::status; }
  // For a receive, valid once complete: the message did not fill the buffer.
  bool is_short() const noexcept { return Operation::status.bytes < bytes; }
  // For split trees: where its copy may be made. Set before the start; stays for later starts.
  void set_for_application(bool on) noexcept { is_for_application = on; }
  // For a receive that is one of several parts: the bytes of all parts together. Set before the
  // start; stays for later starts. A hint for where to copy it.
  void set_whole_bytes(int64_t n) noexcept { whole_bytes = n; }
  // Set before the start; stays for later starts. Null: none.
  void set_on_complete(CompletionFn fn, void* arg) noexcept {
    on_complete = fn;
    argument = arg;
  }
  // For a receive. Set before the start; stays for later starts. Null: none. Its argument is that
  // of set_on_complete().
  void set_fused_reduction(const FusedReduction* to) noexcept { fused_reduction = to; }

  friend Operation& operation_of(Request& request) noexcept { return request; }
  friend Request& request_of(Operation& op) noexcept {
    return static_cast<Request&>(op);
  }
};

Operation& operation_of(Request& request) noexcept;
Request& request_of(Operation& op) noexcept;

// Does an execution wait for it, or is it complete already?
inline bool is_awaited(const Operation& op) noexcept {
  return op.waiter_is_preset || op.state.load(std::memory_order_relaxed) != kActive;
}

}  // namespace mpc::msg
