#pragma once
// File locks: the locks of fcntl(2) and lockf(3) belong to the rank, not to the process.
//
// Role:      turns F_SETLK, F_SETLKW and F_GETLK of a rank into locks on an open file description
//            that only this rank has for the file. As in a process: all descriptors that a
//            rank has of a file share its locks, closing any of them drops these, ranks exclude
//            each other and other processes, a circle of waiting ranks is EDEADLK.
// Users:     runtime/interpose (fcntl, lockf, close and other calls that close).
// Threads:   any thread of a rank.
// See also:  fcntl_locking(2), "Open file description locks"; docs/limits.md.

#include <sys/types.h>

namespace mpc::interpose {

// Constructed before a rank closes a descriptor, destroyed after it: the locks are dropped when
// buffered data are written. Cost: one load while no rank has a lock.
class ClosingLocks {
 public:
  explicit ClosingLocks(int fd) noexcept;
  ~ClosingLocks() {
    if (has_file_) drop();
  }
  ClosingLocks(const ClosingLocks&) = delete;
  ClosingLocks& operator=(const ClosingLocks&) = delete;

 private:
  void drop() noexcept;

  bool has_file_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace mpc::interpose
