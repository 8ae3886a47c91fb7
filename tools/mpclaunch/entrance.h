#pragma once
// Entrance: where the daemons of a job connect to its head.
//
// Role:      listens as long as a daemon is missing, and lets in who knows the secret of a host.
//            Everybody else is dropped: strangers are few at a time, have little time and little
//            memory, and none of them keeps a daemon out.
// Users:     tools/mpclaunch/hosts.h.
// Threads:   that of the loop.
// See also:  tools/mpclaunch/secret.h, docs/cluster.md (who may connect).

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/mpclaunch/loop.h"
#include "tools/mpclaunch/secret.h"

namespace mpc::launch {

class Entrance {
 public:
  // Ownership: of the descriptor goes to who is called.
  using Entered = std::function<void(int host, int fd)>;

  Entrance(Loop& loop, Entered entered);
  ~Entrance();
  Entrance(const Entrance&) = delete;

  // Errors: kSystem.
  Result<> open();
  int port() const noexcept { return port_; }
  // Of this host, without those of the loopback interface: "192.168.1.1 fd00::1".
  static std::string addresses();
  // May come in, once.
  void expect(int host, const Secret& secret) { expected_.push_back({host, secret}); }
  // Drops who has not come in in time. To be called now and then.
  void drop_late();
  // Nobody is expected any more.
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
  int port_ = 0;
  std::vector<Expected> expected_;
  Visitors visitors_;  // the oldest one first
};

}  // namespace mpc::launch
