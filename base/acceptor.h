#pragma once
// Acceptor: accepts connections, and rests when the system has no room for one.
//
// Role:      if accept() fails for want of descriptors or memory, the client stays in the queue of the
//            socket, which stays readable: a loop that asks again at once is busy with nothing else,
//            and takes a core from the ranks. So whoever waits for connections leaves that socket out
//            for a tenth of a second. The client waits meanwhile, and is accepted when there is room.
// Users:     runtime/wireup/door.cpp, runtime/transport/bridge, tools/mpclaunch/entrance.h, tools/mpclaunch/shim.h.
// Threads:   one.
// See also:  accept(2): EMFILE, ENFILE, ENOBUFS, ENOMEM.

#include <cstdint>

#include "base/clock.h"

namespace mpc {

class Acceptor {
 public:
  static constexpr uint64_t kRestNs = 100 * kMs;

  // `clients`: for the message, "processes of other hosts". Ownership: the caller keeps the text.
  explicit Acceptor(const char* clients) noexcept : clients_(clients) {}

  // The next connection, with these flags of accept4(); it is closed on exec() in any case. -1: nobody
  // waits, or there is no room. Says so once in a series of failures.
  int accept(int listener, int flags = 0) noexcept;
  // How long not to look at the listener; 0: look.
  Deadline rests_until_ns() const noexcept { return rests_until_ns_; }
  // True once, when a rest is over.
  bool has_rested(uint64_t now) noexcept { return take_if_over(rests_until_ns_, now); }

 private:
  const char* clients_;
  Deadline rests_until_ns_ = 0;
  bool has_told_ = false;
};

}  // namespace mpc
