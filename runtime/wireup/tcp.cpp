#include "runtime/wireup/tcp.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/clock.h"

namespace mpc::wireup {
namespace {

// The time limit for one address, the proofs included.
constexpr uint64_t kAttemptNs = 3000 * kMs;
constexpr int kSilenceMs = 4000;
constexpr int kIdleSeconds = 1, kProbeSeconds = 1, kProbes = 3;

void set(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

int listen_on(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (family == AF_INET6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);  // IPv4, too
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

bool wait_for(int fd, short events, uint64_t end_ns) {
  const uint64_t now = now_ns();
  if (now >= end_ns) {
    errno = ETIMEDOUT;
    return false;
  }
  pollfd file{fd, events, 0};
  const int ready = ::poll(&file, 1, static_cast<int>((end_ns - now) / kMs + 1));
  if (ready == 0) errno = ETIMEDOUT;
  return ready > 0 || (ready < 0 && errno == EINTR);
}

// "": it is none that another host could use.
std::string text_of(const ifaddrs& one) {
  if (one.ifa_addr == nullptr || (one.ifa_flags & IFF_UP) == 0 ||
      (one.ifa_flags & IFF_LOOPBACK) != 0)
    return "";
  char text[INET6_ADDRSTRLEN] = "";
  if (one.ifa_addr->sa_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(one.ifa_addr);
    ::inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
  } else if (one.ifa_addr->sa_family == AF_INET6) {
    const auto* in = reinterpret_cast<const sockaddr_in6*>(one.ifa_addr);
    if (!IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr))
      ::inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text);
  }
  return text;
}

bool is_in_list(std::string_view list, std::string_view name) {
  std::istringstream in{std::string(list)};
  for (std::string each; std::getline(in, each, ',');)
    if (each == name) return true;
  return false;
}

bool prove_each_other(int fd, const Secret& secret, uint64_t number, uint64_t end_ns) {
  Challenge challenge;
  if (!receive_by(fd, challenge.data(), challenge.size(), end_ns)) return false;
  const Answer answer = answer_to(challenge, static_cast<int>(number), secret);
  if (!send_by(fd, &answer, sizeof answer, end_ns)) return false;
  Proof proof = 0;
  if (!receive_by(fd, &proof, sizeof proof, end_ns)) return false;
  if (proof == proof_for(answer, secret)) return true;
  errno = EPERM;  // it is not the process that was meant
  return false;
}

}  // namespace

int listen_to_all(int* port) {
  int fd = listen_on(AF_INET6);
  if (fd < 0) fd = listen_on(AF_INET);  // no IPv6 here
  if (fd < 0) return -1;
  sockaddr_in6 own{};
  socklen_t size = sizeof own;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size);
  *port = ntohs(own.sin6_port);  // at the same place for IPv4
  return fd;
}

std::string own_addresses(std::string_view first_interfaces) {
  std::string first, others;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const std::string text = text_of(*one);
    if (text.empty()) continue;
    std::string& list = is_in_list(first_interfaces, one->ifa_name) ? first : others;
    list += (list.empty() ? "" : " ") + text;
  }
  ::freeifaddrs(all);
  return first + (first.empty() || others.empty() ? "" : " ") + others;
}

void notice_silence(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kSilenceMs);  // with data under way, too
}

bool receive_by(int fd, void* out, size_t size, uint64_t end_ns) {
  auto* at = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t bytes = ::recv(fd, at, size, MSG_DONTWAIT);
    if (bytes == 0) errno = ECONNRESET;
    if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (bytes < 0) {
      if (!wait_for(fd, POLLIN, end_ns)) return false;
      continue;
    }
    at += bytes;
    size -= static_cast<size_t>(bytes);
  }
  return true;
}

bool send_by(int fd, const void* data, size_t size, uint64_t end_ns) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t bytes = ::send(fd, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (bytes < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (bytes < 0) {
      if (!wait_for(fd, POLLOUT, end_ns)) return false;
      continue;
    }
    at += bytes;
    size -= static_cast<size_t>(bytes);
  }
  return true;
}

int connect_with(const Secret& secret, const std::string& address, int port,
                 uint64_t number) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) !=
      0) {
    errno = EADDRNOTAVAIL;
    return -1;
  }
  const uint64_t end_ns = now_ns() + kAttemptNs;
  const int fd =
      ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int begun = ::connect(fd, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  int error = begun == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof error;
    error = 0;
    if (!wait_for(fd, POLLOUT, end_ns))
      error = errno;
    else
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0 && prove_each_other(fd, secret, number, end_ns)) return fd;
  if (error == 0) error = errno;
  if (fd >= 0) ::close(fd);
  errno = error;
  return -1;
}

}  // namespace mpc::wireup
