#pragma once
// Gathering: a socket between process 0 and each other process, where no launcher of ours made one.
//
// Role:      process 0 listens and tells where on a card (Modex); the others come, with what only
//            processes of the job know.
// Users:     runtime/wireup/guest.cpp.
// Threads:   the process's main thread.
// See also:  runtime/wireup/steward.h; docs/design/0024-guests.md.

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "runtime/wireup/modex.h"

namespace mpc::wireup {

// A process, as the one at the other end of its socket knows it.
struct Member {
  int socket = -1;
  int pid = 0;
  std::string host;
};

class Gathering {
 public:
  // Listens; to other hosts only if there are some. Errors: kSystem.
  static Result<Gathering> open(bool is_one_host);
  // What the others must know to come.
  Bytes invitation() const;
  // Waits until all have come: by their index, the first one this process itself, whose own end is
  // *own. Errors: kSystem.
  Result<std::vector<Member>> admit(int processes, int* own);

  // In the others: the socket. Errors: kSystem.
  static Result<int> join(const Bytes& invitation, int index);

  // By which interfaces of this host these connections go, "eth0,eth1"; not the loopback one.
  static std::string interfaces_of(const std::vector<int>& sockets);

 private:
  using Token = std::array<unsigned char, 16>;
  struct Visitor;
  bool let_in(Visitor& visitor, std::vector<Member>& members) const;
  Result<int> admit_some(std::list<Visitor>& visitors, std::vector<Member>& members,
                         Deadline end_ns) const;

  int listener_ = -1;
  uint16_t port_ = 0;
  Token token_{};
  std::vector<std::string> addresses_;  // numbers, not names
};

}  // namespace mpc::wireup
