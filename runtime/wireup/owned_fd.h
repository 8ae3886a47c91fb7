#pragma once
// OwnedFd: a descriptor that its destructor closes.
//
// Role:      as a smart pointer for memory.
// Users:     runtime/wireup, runtime/message, runtime/job/detached.h, mpi/spawn.
// Threads:   plain data.
// See also:  close(2).

namespace mpc::wireup {

class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) noexcept : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd() { reset(); }
  int get() const noexcept { return fd_; }
  int release() noexcept;
  void reset() noexcept;

 private:
  int fd_;
};

}  // namespace mpc::wireup
