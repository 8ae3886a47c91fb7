#include "runtime/wireup/gathering.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/poll_files.h"

namespace mpc::wireup {
namespace {

// All processes have passed a fence of the launcher's before: only the network can be missing now.
constexpr int kAdmitSeconds = 30;
// Limits for an address that leads nowhere, and for a peer that connects and sends nothing.
constexpr int kAnswerSeconds = 3;
// Visitors that have not said who they are: the oldest one is dropped first.
constexpr size_t kMostVisitors = 256;
// A dead host is noticed after this time.
constexpr int kLostMs = 5000;
// A report is sent in one piece: larger than kMostTextBytes.
constexpr int kBufferBytes = 256 << 10;

struct Hello {
  unsigned char token[16];
  int32_t index;
  int32_t pid;
  char host[64];
};

Error failed(const char* what) {
  return {Errc::kSystem,
          std::string("the processes of the job do not find each other: ") + what +
              ": " + std::strerror(errno)};
}

template <class T>
void set_option(int socket, int level, int name, T value) {
  ::setsockopt(socket, level, name, &value, sizeof value);
}

void set_time_limit(int socket, int seconds) {
  const timeval limit{seconds, 0};
  set_option(socket, SOL_SOCKET, SO_RCVTIMEO, limit);
  set_option(socket, SOL_SOCKET, SO_SNDTIMEO, limit);
}

// From now on it waits without limit, except for a host that does not answer any more.
void make_lasting(int socket) {
  set_time_limit(socket, 0);
  set_option(socket, SOL_SOCKET, SO_SNDBUF, kBufferBytes);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kLostMs);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

// This host's addresses, as numbers; those of the loopback interface only if there are no others.
std::vector<std::string> own_addresses() {
  std::vector<std::string> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (const ifaddrs* a = all; a != nullptr; a = a->ifa_next) {
    if (a->ifa_addr == nullptr || (a->ifa_flags & IFF_UP) == 0 ||
        (a->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    const int family = a->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto* six = reinterpret_cast<const sockaddr_in6*>(a->ifa_addr);
    if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) continue;
    char text[NI_MAXHOST];
    const socklen_t bytes =
        family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(a->ifa_addr, bytes, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) == 0)
      out.emplace_back(text);
  }
  ::freeifaddrs(all);
  out.emplace_back("127.0.0.1");
  return out;
}

// Takes ownership of the socket; -1: it cannot listen at this address, of which `port` is a part.
int listen_at(int socket, void* address, socklen_t bytes, const in_port_t& port,
              uint16_t* out) {
  auto* const at = static_cast<sockaddr*>(address);
  if (socket < 0) return -1;
  if (::bind(socket, at, bytes) == 0 && ::listen(socket, SOMAXCONN) == 0 &&
      ::getsockname(socket, at, &bytes) == 0) {
    *out = ntohs(port);
    return socket;
  }
  ::close(socket);
  return -1;
}

// Sockets for both; -1: neither could be opened.
int listen_to_all(uint16_t* port) {
  const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket >= 0) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);  // IPv4, too
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  return listen_at(socket, &address, sizeof address, address.sin6_port, port);
}

int listen_to_four(in_addr_t whom, uint16_t* port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(whom);
  return listen_at(socket, &address, sizeof address, address.sin_port, port);
}

// -1: it leads nowhere.
int connect_to(const std::string& address, uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    return -1;
  int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket >= 0) {
    set_time_limit(socket, kAnswerSeconds);  // for connect(), too
    if (::connect(socket, found->ai_addr, found->ai_addrlen) != 0) {
      ::close(socket);
      socket = -1;
    }
  }
  ::freeaddrinfo(found);
  return socket;
}

bool receive(int socket, void* to, size_t bytes) {
  return ::recv(socket, to, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

// Another program may listen there, or another job: only a process of this job answers like this.
bool is_welcome(int socket, const Hello& hello) {
  int32_t answer = -1;
  return ::send(socket, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello &&
         receive(socket, &answer, sizeof answer) && answer == hello.index;
}

// The address of the socket's own end; an IPv4 address as four
// bytes, in whatever form the socket has it.
std::string address_of(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    return {reinterpret_cast<const char*>(&four), sizeof four};
  }
  if (address->sa_family != AF_INET6) return "";
  const auto& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  const std::string bytes(reinterpret_cast<const char*>(&six), sizeof six);
  return IN6_IS_ADDR_V4MAPPED(&six) ? bytes.substr(12) : bytes;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string host_name() {
  char name[sizeof(Hello::host)] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

Result<Gathering> Gathering::open(bool is_one_host) {
  Gathering gathering;
  if (::getrandom(gathering.token_.data(), gathering.token_.size(), 0) !=
      static_cast<ssize_t>(gathering.token_.size()))
    return failed("getrandom");
  if (is_one_host) {
    gathering.listener_ = listen_to_four(INADDR_LOOPBACK, &gathering.port_);
    gathering.addresses_ = {"127.0.0.1"};
  } else {
    gathering.listener_ = listen_to_all(&gathering.port_);
    if (gathering.listener_ < 0)
      gathering.listener_ = listen_to_four(INADDR_ANY, &gathering.port_);
    gathering.addresses_ = own_addresses();
  }
  if (gathering.listener_ < 0) return failed("cannot listen");
  return gathering;
}

// The token, then words.
Bytes Gathering::invitation() const {
  std::string text(token_.begin(), token_.end());
  text += std::to_string(port_);
  for (const std::string& address : addresses_) text += " " + address;
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

// A peer that has connected, and has not said yet who it
// is. It may be a stranger: never wait for one.
struct Gathering::Visitor {
  int socket = -1;
  Deadline end_ns = 0;
  Hello hello{};
  size_t bytes = 0;  // received of the hello

  // False: it has closed the connection, or has sent everything.
  bool says_more() {
    const ssize_t came = ::recv(socket, reinterpret_cast<char*>(&hello) + bytes,
                                sizeof hello - bytes, MSG_DONTWAIT);
    if (came < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    bytes += static_cast<size_t>(std::max<ssize_t>(came, 0));
    return came > 0 && bytes < sizeof hello;
  }
};

// True: it is a process of the job that has not been admitted before.
bool Gathering::let_in(Visitor& visitor, std::vector<Member>& members) const {
  Hello& hello = visitor.hello;
  const bool is_ours = visitor.bytes == sizeof hello &&
                       std::equal(token_.begin(), token_.end(), hello.token) &&
                       hello.index > 0 &&
                       hello.index < static_cast<int>(members.size()) &&
                       members[static_cast<size_t>(hello.index)].socket < 0;
  if (!is_ours || ::send(visitor.socket, &hello.index, sizeof hello.index,
                         MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    ::close(visitor.socket);
    return false;
  }
  make_lasting(visitor.socket);
  hello.host[sizeof hello.host - 1] = 0;
  members[static_cast<size_t>(hello.index)] = {visitor.socket, hello.pid, hello.host};
  return true;
}

// Number of processes admitted meanwhile.
int Gathering::admit_some(std::list<Visitor>& visitors, std::vector<Member>& members,
                          Deadline end_ns) {
  const Deadline rests_until_ns = acceptor_.rests_until_ns();
  std::vector<pollfd> wanted = {{rests_until_ns == 0 ? listener_ : -1, POLLIN, 0}};
  for (const Visitor& visitor : visitors) wanted.push_back({visitor.socket, POLLIN, 0});
  // The first visitor is the first whose time is over.
  const Deadline next_ns = visitors.empty() ? 0 : visitors.front().end_ns;
  if (poll_files(wanted, ms_to_first({end_ns, next_ns, rests_until_ns})) < 0) return 0;
  int came = 0;
  auto event = wanted.begin() + 1;
  const uint64_t now = now_ns();
  for (auto visitor = visitors.begin(); visitor != visitors.end(); ++event) {
    const bool stays =
        event->revents != 0 ? visitor->says_more() : visitor->end_ns > now;
    if (!stays && let_in(*visitor, members)) ++came;
    visitor = stays ? std::next(visitor) : visitors.erase(visitor);
  }
  acceptor_.has_rested(now);
  if (wanted[0].revents == 0) return came;
  const int socket = acceptor_.accept(listener_);
  if (socket < 0) return came;
  if (visitors.size() >= kMostVisitors) {
    ::close(visitors.front().socket);
    visitors.pop_front();
  }
  visitors.push_back({socket, now + kAnswerSeconds * (1000 * kMs)});
  return came;
}

Result<std::vector<Member>> Gathering::admit(int processes, int* own) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failed("socketpair");
  std::vector<Member> members(static_cast<size_t>(processes));
  members[0] = {ends[0], ::getpid(), host_name()};
  *own = ends[1];
  std::list<Visitor> visitors;
  const Deadline end_ns = now_ns() + kAdmitSeconds * (1000 * kMs);
  for (int missing = processes - 1; missing > 0;) {
    if (now_ns() >= end_ns) {
      const auto absent = std::find_if(members.begin(), members.end(),
                                       [](const Member& m) { return m.socket < 0; });
      errno = ETIMEDOUT;
      return failed(("process " + std::to_string(absent - members.begin()) +
                     " has not come to process 0")
                        .c_str());
    }
    missing -= admit_some(visitors, members, end_ns);
  }
  for (const Visitor& visitor : visitors) ::close(visitor.socket);
  ::close(listener_);
  listener_ = -1;
  return members;
}

Result<int> Gathering::join(const Bytes& invitation, int index) {
  Hello hello{};
  std::string text(reinterpret_cast<const char*>(invitation.data()), invitation.size());
  if (text.size() <= sizeof hello.token)
    return {Errc::kSystem, "process 0 of the job is of another version of mpcrun"};
  std::memcpy(hello.token, text.data(), sizeof hello.token);
  hello.index = index;
  hello.pid = ::getpid();
  host_name().copy(hello.host, sizeof hello.host - 1);
  std::vector<std::string> words = words_of(text.substr(sizeof hello.token));
  const auto port = static_cast<uint16_t>(std::strtol(words[0].c_str(), nullptr, 10));
  std::string tried;
  for (size_t i = 1; i < words.size(); ++i) {
    const int socket = connect_to(words[i], port);
    if (socket >= 0 && is_welcome(socket, hello)) {
      make_lasting(socket);
      return socket;
    }
    if (socket >= 0) ::close(socket);
    tried += (tried.empty() ? "" : ", ") + words[i];
  }
  return {Errc::kSystem, "process " + std::to_string(index) + " on " + hello.host +
                             " does not reach process 0 of the job at " + tried +
                             ", port " + std::to_string(port) +
                             ": is there a firewall between the hosts?"};
}

std::string Gathering::interfaces_of(const std::vector<int>& sockets) {
  std::set<std::string> addresses, names;
  for (const int socket : sockets) {
    sockaddr_storage own{};
    socklen_t bytes = sizeof own;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &bytes) == 0)
      addresses.insert(address_of(reinterpret_cast<sockaddr*>(&own)));
  }
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  for (const ifaddrs* a = all; a != nullptr; a = a->ifa_next)
    if (a->ifa_addr != nullptr && (a->ifa_flags & IFF_LOOPBACK) == 0 &&
        addresses.count(address_of(a->ifa_addr)) != 0)
      names.insert(a->ifa_name);
  ::freeifaddrs(all);
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

}  // namespace mpc::wireup
