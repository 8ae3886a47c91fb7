#pragma once
// Bridge: a network between processes of several jobs, over Unix sockets, or over TCP between hosts.
//
// Role:      carries messages to processes of other jobs, which come and go while ranks run.
// Users:     runtime/message/abroad.cpp; tests/unit/transport.
// Threads:   net() any; connect() any; a thread of its own reads, and writes packets for which a
//            socket had no room. It sleeps in the kernel while there is nothing to do.
// See also:  runtime/transport/net.h, docs/design/0039-jobs-that-connect.md.
//
// Flow: a socket accepts what its kernel's buffer has room for; the rest waits in this process. How
// much can wait there is bounded: for messages by credit (runtime/message/credit.h), for the data
// of an offer by their receiver, one piece at a time.

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "runtime/transport/net.h"

namespace mpc::transport {

struct BridgeConfig {
  int peers = 2;  // peers are 0 .. peers - 1; most have no connection
  // The number by which Net and Receiver know peer 0; the others follow.
  int first_number = 0;
  size_t eager_bytes = 16 << 10;
  // Ranks have other numbers at the other end. These functions translate an envelope that is sent
  // (dest_world), and one that is received (from_world; false: dest_world is not a rank here).
  // Null: the numbers are the same. Caller: any; the bridge's thread.
  void (*going)(Envelope& envelope) noexcept = nullptr;
  bool (*coming)(int peer, Envelope& envelope) noexcept = nullptr;
  void (*prepare)() = nullptr;  // the thread calls it first
  // Offers to a peer that ends, or has ended, end with kGone. Otherwise they never end.
  bool ends_offers = false;
};

// Events of connections. Caller of all: the bridge's thread, without locks.
class BridgeEvents {
 public:
  // A process has connected to the listening socket; `hello` is the first packet that it sent.
  // Returns the peer that it is from now on; -1: none, the connection is closed.
  virtual int greet(int fd, std::span<const std::byte> hello) noexcept = 0;
  // The peer starts no more operations, and only answers. Not called for every peer that leaves.
  virtual void ending(int) noexcept {}
  // Nothing more comes from this peer: the receiver has taken what it had sent, unless leave() runs;
  // fetches from it have ended with kGone. has_left: the peer announced its end after it had sent
  // everything; otherwise it was lost.
  virtual void gone(int peer, bool has_left) noexcept = 0;

 protected:
  ~BridgeEvents() = default;
};

class Bridge {
 public:
  static std::unique_ptr<Bridge> make(const BridgeConfig& config);
  // Closes the connections without a message.
  virtual ~Bridge() = default;
  virtual Net& net() noexcept = 0;
  // listener: a socket to which others connect (SOCK_SEQPACKET), or -1. It belongs to the caller,
  // who closes it after the bridge is destroyed. Errors: kSystem.
  virtual Result<> start(Receiver& receiver, BridgeEvents& events, int listener) = 0;
  // A socket of packets (SOCK_SEQPACKET), or a stream. Ownership: the descriptor is the bridge's.
  // Errors: kSystem.
  virtual Result<> connect(int peer, int fd) = 0;
  // Tells the peer, after all that was sent before, that no operation starts here any more. Caller:
  // any.
  virtual void say_ending(int peer) noexcept = 0;
  // Tells all peers that nothing more will come, waits until that has been written, `most_ns` at
  // most, and ends the thread. Caller: one thread; the last call.
  virtual void leave(uint64_t most_ns) noexcept = 0;
};

// The longest packet that a process may send as its hello.
inline constexpr size_t kMostHelloBytes = 32 << 10;

// True: a packet is preceded by its length (uint32_t).
bool is_stream(int fd) noexcept;

}  // namespace mpc::transport
