#pragma once
// Descriptor: an open file of the system, used by all ranks of a process.
//
// Role:      whole transfers at an offset: goes on after signals and short transfers; a long one lets
//            the other ranks of the core run meanwhile.
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
  // errno, or 0 and *out. With O_WRONLY it is opened for reading too where that is allowed: writes
  // with gaps need to read.
  static int open(const std::string& path, int flags, unsigned mode,
                  std::unique_ptr<Descriptor>* out);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // Reads fewer bytes without an error where the file ends. Switches: sometimes.
  Outcome read_at(void* to, Count bytes, Count offset) const noexcept;
  Outcome write_at(const void* from, Count bytes, Count offset) const noexcept;

  // All: errno, or 0. Switches: sometimes.
  int size(Count* bytes) const noexcept;
  int set_size(Count bytes) const noexcept;
  // The file has room on the device for so many bytes from its start, and is at least as long.
  int preallocate(Count bytes) const noexcept;
  int sync() const noexcept;
  // Between processes: keeps others out of [begin, end), which ask for the same.
  int lock_range(Count begin, Count end) const noexcept;
  int unlock_range(Count begin, Count end) const noexcept;
  int close() noexcept;  // once; what a deferred write reports

  bool can_read() const noexcept { return can_read_; }
  // A file or a device that has places, and whose reads and writes end.
  bool is_plain() const noexcept { return is_plain_; }
  int number() const noexcept { return fd_; }
  // Which file it is, whatever its name.
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
