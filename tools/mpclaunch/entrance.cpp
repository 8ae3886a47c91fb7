#include "tools/mpclaunch/entrance.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"

namespace mpc::launch {
namespace {

// More than the number of hosts that connect at one time: a daemon answers within a round trip.
constexpr size_t kMostVisitors = 256;
constexpr uint64_t kVisitNs = 5000 * kMs;

int listen_on(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int off = 0;
  if (family == AF_INET6)  // IPv4, too
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_storage any{};
  any.ss_family = static_cast<sa_family_t>(family);
  const socklen_t size =
      family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&any), size) == 0 &&
      ::listen(fd, SOMAXCONN) == 0)
    return fd;
  ::close(fd);
  return -1;
}

}  // namespace

Entrance::Entrance(Loop& loop, Entered entered)
    : loop_(loop), entered_(std::move(entered)) {}

Entrance::~Entrance() { close(); }

Result<> Entrance::open() {
  listener_ = listen_on(AF_INET6);
  if (listener_ < 0) listener_ = listen_on(AF_INET);  // no IPv6 here
  if (listener_ < 0)
    return {Errc::kSystem,
            std::string("cannot listen for the daemons of other hosts: ") +
                std::strerror(errno)};
  sockaddr_in6 own{};
  socklen_t size = sizeof own;
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &size);
  port_ = ntohs(own.sin6_port);  // at the same place for IPv4
  loop_.watch(listener_, [this] { accept(); });
  return {};
}

void Entrance::close() {
  while (!visitors_.empty()) drop(visitors_.begin());
  if (listener_ < 0) return;
  loop_.forget(listener_);
  ::close(listener_);
  listener_ = -1;
}

std::string Entrance::addresses() {
  std::string out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool is_usable = one->ifa_addr != nullptr && (one->ifa_flags & IFF_UP) != 0 &&
                           (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_usable) continue;
    char text[INET6_ADDRSTRLEN] = "";
    if (one->ifa_addr->sa_family == AF_INET) {
      const auto* in = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
      ::inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      const auto* in = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
      if (!IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr))
        ::inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text);
    }
    if (text[0] != 0) out += (out.empty() ? "" : " ") + std::string(text);
  }
  ::freeifaddrs(all);
  return out;
}

void Entrance::accept() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (visitors_.size() >= kMostVisitors) drop(visitors_.begin());
  Visitor made;
  made.fd = fd;
  made.end_ns = now_ns() + kVisitNs;
  made.challenge = make_secret();
  const auto visitor = visitors_.insert(visitors_.end(), made);
  // These are the first bytes of the connection, so there is room for them.
  ::send(fd, made.challenge.data(), made.challenge.size(), MSG_NOSIGNAL);
  loop_.watch(fd, [this, visitor] { hear(visitor); });
}

void Entrance::hear(Visitors::iterator visitor) {
  char* const answer = reinterpret_cast<char*>(&visitor->answer);
  const ssize_t bytes = ::recv(visitor->fd, answer + visitor->bytes,
                               sizeof visitor->answer - visitor->bytes, 0);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (bytes <= 0) return drop(visitor);
  visitor->bytes += static_cast<size_t>(bytes);
  if (visitor->bytes < sizeof visitor->answer) return;
  if (!let_in(*visitor))
    drop(visitor);
  else
    visitors_.erase(visitor);
}

bool Entrance::let_in(const Visitor& visitor) {
  const auto found =
      std::find_if(expected_.begin(), expected_.end(), [&](const Expected& one) {
        return static_cast<uint64_t>(one.host) == visitor.answer.host;
      });
  if (found == expected_.end() ||
      !is_right(visitor.answer, visitor.challenge, found->secret))
    return false;
  const Proof proof = proof_for(visitor.answer, found->secret);
  if (::send(visitor.fd, &proof, sizeof proof, MSG_NOSIGNAL) != sizeof proof)
    return false;
  const int host = found->host;
  expected_.erase(found);
  loop_.forget(visitor.fd);
  entered_(host, visitor.fd);
  return true;
}

void Entrance::drop(Visitors::iterator visitor) {
  loop_.forget(visitor->fd);
  ::close(visitor->fd);
  visitors_.erase(visitor);
}

void Entrance::drop_late() {
  const uint64_t now = now_ns();
  while (!visitors_.empty() && visitors_.front().end_ns <= now) drop(visitors_.begin());
}

}  // namespace mpc::launch
