#pragma once
// Bridge: a network between processes of several jobs of one host, over Unix sockets.
//
// Role:      carries messages to processes of other jobs, which come and go while ranks run.
// Users:     runtime/message/abroad.cpp; tests/unit/transport.
// Threads:   net() any; connect() any; a thread of its own reads, and writes what a socket had no room
//            for. It sleeps in the kernel while there is nothing to do.
// See also:  runtime/transport/net.h, docs/design/0039-jobs-that-connect.md.
//
// Flow: a socket takes what its kernel's buffer has room for; the rest waits in this process. What can
// wait there is bounded by those who send: messages by credit (runtime/message/credit.h), data of an
// offer by their receiver, one piece at a time.

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "runtime/transport/net.h"

namespace mpc::transport {

struct BridgeConfig {
  int peers = 2;  // peers are 0 .. peers - 1; most have no connection
  // As Net and Receiver know them they begin with this number.
  int first_number = 0;
  size_t eager_bytes = 16 << 10;
  // Ranks have other numbers at the other end: what is told (dest_world) and what is heard (from_world, and
  // whether dest_world is a rank here). Null: they are the same. Caller: any; the bridge's thread.
  void (*going)(Envelope& envelope) noexcept = nullptr;
  bool (*coming)(int peer, Envelope& envelope) noexcept = nullptr;
  void (*prepare)() = nullptr;  // called by the thread first
};

// What happens to connections. Caller of all: the bridge's thread, without locks.
class BridgeEvents {
 public:
  // Somebody has come to the listening socket, and this is the first that he says. The peer that he is
  // from now on; -1: nobody, the connection is closed.
  virtual int greet(int fd, std::span<const std::byte> hello) noexcept = 0;
  // The peer begins nothing any more, and answers only. Not called for all that leave.
  virtual void ending(int) noexcept {}
  // No more comes from this peer; what was to be fetched from it has ended with kGone.
  // has_left: it has said so, and had nothing more to say. Else it was lost.
  virtual void gone(int peer, bool has_left) noexcept = 0;

 protected:
  ~BridgeEvents() = default;
};

class Bridge {
 public:
  static std::unique_ptr<Bridge> make(const BridgeConfig& config);
  // Leaves what is connected without a word.
  virtual ~Bridge() = default;
  virtual Net& net() noexcept = 0;
  // listener: a socket that others connect to (SOCK_SEQPACKET), or -1; the caller's, until the bridge is
  // gone. Errors: kSystem.
  virtual Result<> start(Receiver& receiver, BridgeEvents& events, int listener) = 0;
  // Ownership: the descriptor is the bridge's. Errors: kSystem.
  virtual Result<> connect(int peer, int fd) = 0;
  // Tells the peer that nothing more is begun here, behind all that was sent before. Caller: any.
  virtual void say_ending(int peer) noexcept = 0;
  // Tells all peers that nothing more will come, once it has been written, and ends the thread. Waits for
  // so long at most. Caller: one, as the last one.
  virtual void leave(uint64_t most_ns) noexcept = 0;
};

// The longest packet that somebody may greet with.
inline constexpr size_t kMostHelloBytes = 32 << 10;

}  // namespace mpc::transport
