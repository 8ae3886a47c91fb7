#pragma once
// Net: carries messages between the processes of a job.
//
// Role:      the interface between matching, which knows ranks, communicators and tags, and a
//            network, which knows processes and bytes. An implementation is one class: a module
//            that is loaded at run time returns one through a C function.
// Users:     runtime/message; implemented by runtime/transport/loopback.
// Threads:   see each function.
// See also:  runtime/transport/envelope.h, docs/design/0019-virtual-processes.md.
//
//   sender's process                        receiver's process
//   post(kEager, data)      ------------->  take(data)
//   offer(kOffer, Source)   ------------->  take(bulk)          the data stay where they are
//                           <-------------  fetch(bulk, Target)  or refuse(bulk)
//   done(kDone|kRefused)    ------------->  done(kDone)
//
// Order: none. Messages posted to one process may arrive there in any order: numbers in the
// envelopes restore it. Nothing is lost, nothing arrives twice.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/transport/completion.h"
#include "runtime/transport/envelope.h"

namespace mpc::transport {

// An offer, as its receiver names it to its net. 0: none.
using Bulk = uint64_t;

// The data to send. The net reads them until the call returns (post), or until done() (offer).
struct Source {
  const void* data = nullptr;  // contiguous, or an object that `pack` knows
  size_t bytes = 0;
  // Writes bytes [offset, offset + n) of the packed message. Null: contiguous.
  void (*pack)(const void* data, size_t offset, void* out, size_t n) noexcept = nullptr;
};

// The memory to fill, until done().
struct Target {
  void* data = nullptr;
  size_t bytes = 0;  // as the message has
  void (*unpack)(void* data, size_t offset, const void* in,
                 size_t n) noexcept = nullptr;
};

struct Limits {
  size_t eager_bytes;  // the longest message that post() accepts
};

// What a process does with arriving messages. Implemented by runtime/message.
// Caller of both: the net; never two at a time for one process and lane.
class Receiver {
 public:
  // False: not now; the net stores it and offers it again, perhaps after others. The data belong to
  // the net and are invalid afterwards.
  // The net may hold a lock of its own: take() calls no function of the net, and waits for no lock
  // whose holder may call one. What follows from it is done in finish().
  virtual bool take(int from, const Envelope& envelope, const void* data, size_t bytes,
                    Bulk bulk) noexcept = 0;
  // Called after one or several take(); the net holds no lock. False: call it again soon.
  virtual bool finish() noexcept = 0;

 protected:
  ~Receiver() = default;
};

// What an execution does with the next message of a process, for which it waits.
class NextTaker {
 public:
  // `data` may lie in memory that the other process can write. False: not this one; nothing has changed. As with
  // Receiver::take() the net holds a lock of its own.
  virtual bool take(const Envelope& envelope, const void* data,
                    size_t bytes) noexcept = 0;

 protected:
  ~NextTaker() = default;
};

// See Net::poll_for().
enum class Polled : uint8_t {
  kNothing,    // nothing has come, or another thread polls
  kNews,       // something else, which the Receiver has got
  kTaken,      // the message, by the NextTaker
  kElsewhere,  // this net cannot do it: EventSource::poll()
};

// A word of the net's memory, that will be `value` when the next message of a process has come. A hint, and it
// stays so when the message has been taken.
struct Sign {
  const std::atomic<uint32_t>* word = nullptr;
  uint32_t value = 0;
  bool is_polled = false;  // no word: poll_for() finds the message
  // Acquire: pairs with the other process's store, after the message.
  bool is_seen() const noexcept {
    return word->load(std::memory_order_acquire) == value;
  }
};

// See Net::look_near().
enum class Near : uint8_t {
  kNothing,  // nothing yet
  kNews,     // something, for poll_near()
  kElsewhere,  // what comes may come in another way, or there is other work: EventSource::poll()
};

// One process's end of the network.
// Caller of all: any execution, a Completion, Receiver::finish(); no lock of a mailbox is held.
// Switches: no.
class Net {
 public:
  virtual ~Net() = default;
  virtual Limits limits(int peer) const noexcept = 0;

  // Ownership: the data are the caller's again when it returns.
  virtual void post(int peer, const Envelope& envelope,
                    const Source& source) noexcept = 0;
  // Ownership: data and completion belong to the net until done() or forget().
  virtual void offer(int peer, const Envelope& envelope, const Source& source,
                     Completion& completion) noexcept = 0;
  // Call one of these for each offer, once; none if the process has ended.
  virtual void fetch(int peer, Bulk bulk, const Target& target,
                     Completion& completion) noexcept = 0;
  virtual void refuse(int peer, Bulk bulk) noexcept = 0;
  // For an offer or a fetch whose memory is about to be freed: when it returns the net touches
  // neither data nor completion again. A fetch of such an offer ends with kGone. Waits for a
  // done() that is just running. Caller: not from a done().
  virtual void forget(Completion& completion) noexcept = 0;

  // For an execution that waits for a message of one process, and can take it without a Receiver. A sign
  // without a word: this net has none now.
  virtual Sign next_from(int) const noexcept { return {}; }
  // Gives the next message from there to `taker`, if it has come and lies in shared memory. Never waits, and ends
  // no arming (EventSource::arm()): what has been armed wakes somebody as if this had not been called. False: it
  // is still there, or it was not; poll.
  virtual bool take_next(int, NextTaker&) noexcept { return false; }
  // The same for an execution that waits for anything. A hint: what may be found in shared memory now? Caller: any.
  virtual Near look_near() const noexcept { return Near::kElsewhere; }
  // Gives what lies there to the Receiver. False: nothing has been given. Caller: without a rank's identity, as
  // EventSource::poll().
  virtual bool poll_near() noexcept { return false; }
  // EventSource::poll(), but the next message from there is offered to `taker` first. Caller: as
  // EventSource::poll(), between begin and end of a sched::CloseLook.
  virtual Polled poll_for(int, NextTaker&) noexcept { return Polled::kElsewhere; }
};

}  // namespace mpc::transport
