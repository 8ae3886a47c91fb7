#pragma once
// Gathering: a socket between process 0 and each other process,
// for jobs that our launcher did not start.
//
// Role:      process 0 listens and publishes its address on a card (Modex); the others connect,
//            with a secret that only processes of the job know.
// Users:     runtime/wireup/guest.cpp.
// Threads:   the process's main thread.
// See also:  runtime/wireup/steward.h; docs/design/0024-guests.md.

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "base/acceptor.h"
#include "base/clock.h"
#include "base/result.h"
#include "runtime/wireup/modex.h"

namespace mpc::wireup {

// A process, as seen from the other end of its socket.
struct Member {
  int socket = -1;
  int pid = 0;
  std::string host;
};

class Gathering {
 public:
  // Listens; for other hosts only if there are some. Errors: kSystem.
  static Result<Gathering> open(bool is_one_host);
  // What the others must know to connect.
  Bytes invitation() const;
  // Waits until all have connected. Returns them by index, the first one being this process, whose
  // own end is *own. Errors: kSystem.
  Result<std::vector<Member>> admit(int processes, int* own);

  // For the others: returns the socket. Errors: kSystem.
  static Result<int> join(const Bytes& invitation, int index);

  // The interfaces of this host that these connections use, "eth0,eth1"; without the loopback one.
  static std::string interfaces_of(const std::vector<int>& sockets);

 private:
  using Token = std::array<unsigned char, 16>;
  struct Visitor;
  bool let_in(Visitor& visitor, std::vector<Member>& members) const;
  int admit_some(std::list<Visitor>& visitors, std::vector<Member>& members,
                 Deadline end_ns);

  int listener_ = -1;
  Acceptor acceptor_{"a process of the job"};
  uint16_t port_ = 0;
  Token token_{};
  std::vector<std::string> addresses_;  // numbers, not names
};

}  // namespace mpc::wireup
