#include "runtime/job/core_leases.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>

namespace mpc::job {
namespace {

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;
};

// The first byte of an abstract name is 0, and its length is significant.
Name name_of(int os_pu, CoreLeases::Use use) noexcept {
  Name name;
  name.address.sun_family = AF_UNIX;
  const int length = std::snprintf(
      name.address.sun_path + 1, sizeof name.address.sun_path - 1, "mpc/core/%d/%s",
      os_pu, use == CoreLeases::Use::kRanks ? "ranks" : "communication");
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                     static_cast<size_t>(length));
  return name;
}

const sockaddr* generic(const Name& name) noexcept {
  return reinterpret_cast<const sockaddr*>(&name.address);
}

int new_socket() noexcept { return ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); }

}  // namespace

CoreLeases::CoreLeases() : probe_(new_socket()) {}

CoreLeases::~CoreLeases() {
  give_back();
  if (probe_ >= 0) ::close(probe_);
}

// Datagram sockets connect without the help of the other side, and may do so again.
bool CoreLeases::is_taken(int os_pu, Use use) const noexcept {
  const Name name = name_of(os_pu, use);
  return probe_ >= 0 && ::connect(probe_, generic(name), name.size) == 0;
}

bool CoreLeases::take(int os_pu, Use use) noexcept {
  const int lease = new_socket();
  if (lease < 0) return true;  // as if alone
  const Name name = name_of(os_pu, use);
  const bool is_ours = ::bind(lease, generic(name), name.size) == 0;
  const bool is_refused = !is_ours && errno == EADDRINUSE;
  if (is_ours)
    held_.push_back(lease);
  else
    ::close(lease);
  return !is_refused;
}

void CoreLeases::give_back() noexcept {
  for (const int lease : held_) ::close(lease);
  held_.clear();
}

bool CoreLeases::has_room_for(size_t cores) noexcept {
  rlimit limit{};
  constexpr size_t kShareOfAll = 8, kForOthers = 32;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  return limit.rlim_cur >= kShareOfAll * cores + kForOthers;
}

}  // namespace mpc::job
