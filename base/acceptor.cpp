#include "base/acceptor.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace mpc {
namespace {

// Nobody waits, or this client has gone: at the next one it may be different.
bool is_of_client(int error) noexcept {
  return error == EAGAIN || error == EINTR || error == ECONNABORTED;
}

}  // namespace

int Acceptor::accept(int listener, int flags) noexcept {
  const int fd = ::accept4(listener, nullptr, nullptr, flags | SOCK_CLOEXEC);
  if (fd >= 0) {
    has_told_ = false;
    return fd;
  }
  const int error = errno;
  if (is_of_client(error)) return -1;
  rests_until_ns_ = now_ns() + kRestNs;
  if (has_told_) return -1;
  has_told_ = true;
  log::warn(
      "a connection of {} cannot be accepted: {}; it is tried again until there is "
      "room{}",
      clients_, std::strerror(error),
      error == EMFILE ? " (ulimit -n says how many files a process may open)" : "");
  return -1;
}

}  // namespace mpc
