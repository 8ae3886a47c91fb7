#include "tools/mpclaunch/entrance.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "runtime/wireup/tcp.h"

namespace mpc::launch {
namespace {

// More than the number of hosts that connect at one time: a daemon answers within a round trip.
constexpr size_t kMostVisitors = 256;
constexpr uint64_t kVisitNs = 5000 * kMs;

}  // namespace

Entrance::Entrance(Loop& loop, Entered entered)
    : loop_(loop), entered_(std::move(entered)) {}

Entrance::~Entrance() { close(); }

Result<> Entrance::open() {
  listener_ = wireup::listen_to_all(&port_);
  if (listener_ < 0)
    return {Errc::kSystem,
            std::string("cannot listen for the daemons of other hosts: ") +
                std::strerror(errno)};
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

std::string Entrance::addresses() { return wireup::own_addresses(); }

void Entrance::accept() {
  const int fd = acceptor_.accept(listener_, SOCK_NONBLOCK);
  if (fd < 0) return loop_.rest(listener_, acceptor_.rests_until_ns());
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
