#pragma once
// Entrance: where the daemons of a job connect to its head.
//
// Role:      listens as long as a daemon is missing, and accepts a client that knows the secret of
//            a host. All others are dropped: strangers are few at a time, have little time and
//            little
//            memory, and none of them keeps a daemon out.
// Users:     tools/mpclaunch/hosts.h.
// Threads:   that of the loop.
// See also:  tools/mpclaunch/secret.h, docs/cluster.md (who may connect).

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "base/acceptor.h"
#include "base/result.h"
#include "tools/mpclaunch/loop.h"
#include "tools/mpclaunch/secret.h"

namespace mpc::launch {

class Entrance {
 public:
  // Ownership: the callee owns the descriptor.
  using Entered = std::function<void(int host, int fd)>;

  Entrance(Loop& loop, Entered entered);
  ~Entrance();
  Entrance(const Entrance&) = delete;

  // Errors: kSystem.
  Result<> open();
  int port() const noexcept { return port_; }
  // The addresses of this host, without those of the loopback interface: "192.168.1.1 fd00::1".
  static std::string addresses();
  // Allows this host's daemon to connect, once.
  void expect(int host, const Secret& secret) { expected_.push_back({host, secret}); }
  // Drops visitors that have not proved themselves in time. Call it from time to time.
  void drop_late();
  // No daemon is expected any more.
  void close();
  int visitors() const noexcept { return static_cast<int>(visitors_.size()); }

 private:
  struct Expected {
    int host = 0;
    Secret secret;
  };
  struct Visitor {
    int fd = -1;
    uint64_t end_ns = 0;
    Challenge challenge{};
    Answer answer;
    size_t bytes = 0;  // of the answer
  };
  using Visitors = std::list<Visitor>;

  void accept();
  void hear(Visitors::iterator visitor);
  bool let_in(const Visitor& visitor);
  void drop(Visitors::iterator visitor);

  Loop& loop_;
  const Entered entered_;
  int listener_ = -1;
  Acceptor acceptor_{"a daemon of another host"};
  int port_ = 0;
  std::vector<Expected> expected_;
  Visitors visitors_;  // the oldest one first
};

}  // namespace mpc::launch
