#pragma once
// TemporaryFile: a file in memory, for code that wants a path.
//
// Role:      the bytes of one round; the same file, and name, for all rounds of a process.
// Users:     tests/fuzz.
// Threads:   one.
// See also:  tests/fuzz/bytes.h

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace mpc::fuzz {

class TemporaryFile {
 public:
  TemporaryFile() {
    fd_ = ::memfd_create("mpc-fuzz",
                         MFD_CLOEXEC);  // gone with the process, however it ends
    if (fd_ < 0) std::abort();
    ::fchmod(fd_, 0700);  // programs are executable
    path_ = "/proc/self/fd/" + std::to_string(fd_);
  }
  ~TemporaryFile() { ::close(fd_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  void fill(std::string_view bytes) {
    if (::ftruncate(fd_, 0) != 0 || ::pwrite(fd_, bytes.data(), bytes.size(), 0) !=
                                        static_cast<ssize_t>(bytes.size()))
      std::abort();
  }

 private:
  int fd_;
  std::string path_;
};

}  // namespace mpc::fuzz
