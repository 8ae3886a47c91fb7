#include "mpi/spawn/socket_hello.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mpi.h"

namespace mpc::mpi {
namespace {

Err failed(const char* what) {
  const int error = errno;
  return fail(error == EBADF || error == ENOTSOCK ? MPI_ERR_ARG : MPI_ERR_OTHER,
              fmt::format("{}: {}", what, std::strerror(error)));
}

// The descriptor may be non-blocking: then poll() waits. True: try again.
bool wait_for(int fd, short what) noexcept {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  pollfd ready{fd, what, 0};
  return ::poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

}  // namespace

Err exchange(int fd, const void* mine, void* theirs, size_t bytes) {
  const auto* out = static_cast<const char*>(mine);
  for (size_t sent = 0; sent < bytes;) {
    const ssize_t n = ::send(fd, out + sent, bytes - sent, MSG_NOSIGNAL);
    if (n > 0) sent += static_cast<size_t>(n);
    if (n < 0 && !wait_for(fd, POLLOUT)) return failed("send on the socket");
  }
  auto* in = static_cast<char*>(theirs);
  for (size_t got = 0; got < bytes;) {
    const ssize_t n = ::recv(fd, in + got, bytes - got, 0);
    if (n > 0) got += static_cast<size_t>(n);
    if (n == 0)
      return fail(MPI_ERR_OTHER, "the other end of the socket has been closed");
    if (n < 0 && !wait_for(fd, POLLIN)) return failed("receive from the socket");
  }
  return kSuccess;
}

}  // namespace mpc::mpi
