#pragma once
// Descriptor: an open file descriptor, used by all ranks of a process.
//
// Role:      complete transfers at an offset: continues after signals and short transfers. During a
//            long transfer the other ranks of the core run.
// Users:     runtime/io, mpi/io.
// Threads:   any; the kernel's file offset is never used.
// See also:  docs/design/0028-files.md.

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/io/outcome.h"

namespace mpc::io {

class Descriptor {
 public:
  // Returns errno, or 0 and *out. With O_WRONLY it opens for reading as well if that is allowed:
  // writes with gaps need to read.
  static int open(const std::string& path, int flags, unsigned mode,
                  std::unique_ptr<Descriptor>* out);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // Returns fewer bytes without an error if the file ends. Switches: sometimes.
  Outcome read_at(void* to, Count bytes, Count offset) const noexcept;
  Outcome write_at(const void* from, Count bytes, Count offset) const noexcept;

  // These return errno, or 0. Switches: sometimes.
  int size(Count* bytes) const noexcept;
  int set_size(Count bytes) const noexcept;
  // Reserves room on the device for the first `bytes` bytes; the file is at least as long
  // afterwards.
  int preallocate(Count bytes) const noexcept;
  int sync() const noexcept;
  // Excludes other processes that lock [begin, end) as well.
  int lock_range(Count begin, Count end) const noexcept;
  int unlock_range(Count begin, Count end) const noexcept;
  // False: a read of [begin, end) would have to wait for the device. Without waiting for it. Switches: no.
  bool is_cached(Count begin, Count end) const noexcept;
  int close() noexcept;  // once; returns what a deferred write reports

  bool can_read() const noexcept { return can_read_; }
  // A file or a device that has offsets, and whose reads and writes end.
  bool is_plain() const noexcept { return is_plain_; }
  int number() const noexcept { return fd_; }
  // These identify the file, whatever its name.
  uint64_t device() const noexcept { return device_; }
  uint64_t inode() const noexcept { return inode_; }

 private:
  Descriptor(int fd, bool can_read, bool can_write) noexcept
      : fd_(fd), can_read_(can_read), can_write_(can_write) {}

  int fd_;
  bool can_read_, can_write_;
  bool is_plain_ = false;
  uint64_t device_ = 0, inode_ = 0;
};

}  // namespace mpc::io
