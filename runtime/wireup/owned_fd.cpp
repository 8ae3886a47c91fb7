#include "runtime/wireup/owned_fd.h"

#include <unistd.h>

namespace mpc::wireup {

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int OwnedFd::release() noexcept {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void OwnedFd::reset() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace mpc::wireup
