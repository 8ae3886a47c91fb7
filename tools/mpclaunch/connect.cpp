// How a daemon finds the head of its job, and how the two prove their identity to each other.
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tools/mpclaunch/daemon.h"
#include "tools/mpclaunch/first_line.h"
#include "tools/mpclaunch/secret.h"

namespace mpc::launch {
namespace {

// The time limit for one address, the proofs included.
constexpr uint64_t kAttemptNs = 3000 * kMs;

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

bool receive(int fd, void* out, size_t size, uint64_t end_ns) {
  auto* at = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t bytes = ::recv(fd, at, size, 0);
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

bool prove_each_other(int fd, const FirstLine& line, uint64_t end_ns) {
  Challenge challenge;
  if (!receive(fd, challenge.data(), challenge.size(), end_ns)) return false;
  const Answer answer = answer_to(challenge, line.host, line.secret);
  if (::send(fd, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer) return false;
  Proof proof = 0;
  if (!receive(fd, &proof, sizeof proof, end_ns)) return false;
  if (proof == proof_for(answer, line.secret)) return true;
  errno = EPERM;  // it is not the head of our job
  return false;
}

// Returns a descriptor, or -1 and errno.
int connect_to(const std::string& address, const FirstLine& line) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  errno = EADDRNOTAVAIL;
  if (::getaddrinfo(address.c_str(), std::to_string(line.port).c_str(), &hints,
                    &found) != 0)
    return -1;
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
  if (error == 0 && prove_each_other(fd, line, end_ns)) return fd;
  if (error == 0) error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

}  // namespace

Result<int> connect_to_head() {
  FirstLine line;
  std::string text;
  char c = 0;
  while (text.size() < kMostFirstLineBytes && ::read(STDIN_FILENO, &c, 1) == 1 &&
         c != '\n')
    text += c;
  if (!read_first_line(text, &line))
    return {Errc::kSystem, "mpclaunch --daemon: mpcrun --hosts starts it"};
  // The address from which ssh came is tried first.
  if (const char* from = std::getenv("SSH_CONNECTION"))
    line.addresses.insert(line.addresses.begin(),
                          std::string(from, std::strcspn(from, " ")));
  std::string tried;
  for (const std::string& address : line.addresses) {
    const int fd = connect_to(address, line);
    if (fd >= 0) return fd;
    tried += (tried.empty() ? "" : ", ") + address + ": " + std::strerror(errno);
  }
  return {Errc::kSystem, "cannot connect back to mpcrun, port " +
                             std::to_string(line.port) + " (" + tried + ")"};
}

}  // namespace mpc::launch
