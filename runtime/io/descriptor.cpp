#include "runtime/io/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "scheduler/execution.h"

namespace mpc::io {
namespace {

// To copy this many bytes takes some 10 us. During longer transfers, which may have to wait for a
// disk, the other ranks of the core run.
constexpr Count kLongBytes = Count{64} << 10;
// The kernel moves less than 2 GiB at once.
constexpr Count kMostBytes = Count{1} << 30;

class PerhapsBlocking {
 public:
  explicit PerhapsBlocking(Count bytes) noexcept {
    if (bytes >= kLongBytes) region_.emplace();
  }

 private:
  std::optional<sched::BlockingRegion> region_;
};

template <class Call>
int without_interruption(Call call) noexcept {
  const sched::BlockingRegion region;
  for (;;) {
    if (call() == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

int lock_call(int fd, short type, Count begin, Count end) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = begin;
  lock.l_len = end - begin;
  return without_interruption([&] { return ::fcntl(fd, F_OFD_SETLKW, &lock); });
}

}  // namespace

int Descriptor::open(const std::string& path, int flags, unsigned mode,
                     std::unique_ptr<Descriptor>* out) {
  int fd = -1;
  const auto try_flags = [&](int with) {
    return without_interruption([&] {
      fd = ::open(path.c_str(), with | O_CLOEXEC, mode);
      return fd < 0 ? -1 : 0;
    });
  };
  const bool wants_to_read = (flags & O_ACCMODE) != O_WRONLY;
  bool can_read = true;
  int error = try_flags(wants_to_read ? flags : (flags & ~O_ACCMODE) | O_RDWR);
  if (error != 0 && !wants_to_read && error != EEXIST && error != ENOENT) {
    can_read = false;
    error = try_flags(flags);
  }
  if (error != 0) return error;
  std::unique_ptr<Descriptor> made(
      new Descriptor(fd, can_read, (flags & O_ACCMODE) != O_RDONLY));
  struct stat status {};
  if (::fstat(fd, &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  made->is_plain_ = S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
  made->device_ = status.st_dev;
  made->inode_ = status.st_ino;
  *out = std::move(made);
  return 0;
}

// Closes a file whose last access was still under way in close(). This may be the thread on which
// that access has ended, which must not wait for long and has nobody to report errors to.
Descriptor::~Descriptor() {
  if (fd_ >= 0) (void)::close(fd_);
}

int Descriptor::close() noexcept {
  if (fd_ < 0) return 0;
  const sched::BlockingRegion region;
  const int fd = std::exchange(fd_, -1);
  // Linux has closed the descriptor, whatever close() returns.
  return ::close(fd) == 0 || errno == EINTR ? 0 : errno;
}

Outcome Descriptor::read_at(void* to, Count bytes, Count offset) const noexcept {
  const PerhapsBlocking region(bytes);
  Outcome done;
  while (done.bytes < bytes) {
    const auto part = static_cast<size_t>(std::min(bytes - done.bytes, kMostBytes));
    const ssize_t n =
        ::pread(fd_, static_cast<char*>(to) + done.bytes, part, offset + done.bytes);
    if (n > 0) {
      done.bytes += n;
    } else if (n == 0) {
      break;
    } else if (errno != EINTR) {
      done.error = errno;
      break;
    }
  }
  return done;
}

Outcome Descriptor::write_at(const void* from, Count bytes,
                             Count offset) const noexcept {
  const PerhapsBlocking region(bytes);
  Outcome done;
  while (done.bytes < bytes) {
    const auto part = static_cast<size_t>(std::min(bytes - done.bytes, kMostBytes));
    const ssize_t n = ::pwrite(fd_, static_cast<const char*>(from) + done.bytes, part,
                               offset + done.bytes);
    if (n > 0) {
      done.bytes += n;
    } else if (n == 0) {
      done.error = ENOSPC;  // no file system does this: prevents an endless loop
      break;
    } else if (errno != EINTR) {
      done.error = errno;
      break;
    }
  }
  return done;
}

int Descriptor::size(Count* bytes) const noexcept {
  struct stat status {};
  const int error = without_interruption([&] { return ::fstat(fd_, &status); });
  if (error == 0) *bytes = status.st_size;
  return error;
}

int Descriptor::set_size(Count bytes) const noexcept {
  return without_interruption([&] { return ::ftruncate(fd_, bytes); });
}

int Descriptor::preallocate(Count bytes) const noexcept {
  if (bytes <= 0) return 0;
  const sched::BlockingRegion region;
  for (;;) {
    // Returns the error and does not set errno; writes zeros if the file system has no such call.
    const int error = ::posix_fallocate(fd_, 0, bytes);
    if (error != EINTR) return error;
  }
}

int Descriptor::sync() const noexcept {
  const int error = without_interruption([&] { return ::fsync(fd_); });
  return error == EINVAL || error == EROFS ? 0 : error;  // nothing to synchronise there
}

bool Descriptor::is_cached(Count begin, Count end) const noexcept {
  // cachestat(2), since Linux 6.5; Debian 12 has no name for it.
  constexpr long kCachestat = 451;
  struct {
    uint64_t offset, bytes;
  } const range{static_cast<uint64_t>(begin), static_cast<uint64_t>(end - begin)};
  struct {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
  } pages{};
  if (::syscall(kCachestat, fd_, &range, &pages, 0) == 0) {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) return false;
    const Count page = ::sysconf(_SC_PAGESIZE);
    const Count last = std::min<Count>(end, status.st_size);
    const Count wanted = last <= begin ? 0 : (last - 1) / page - begin / page + 1;
    return static_cast<Count>(pages.cached) >= wanted;
  }
  // Of the first byte only: where it is missing, the system begins to read it ahead. Where the file system does not
  // know this (EOPNOTSUPP), nothing is known.
  char byte;
  iovec to{&byte, 1};
  return ::preadv2(fd_, &to, 1, begin, RWF_NOWAIT) >= 0;
}

int Descriptor::lock_range(Count begin, Count end) const noexcept {
  return lock_call(fd_, can_write_ ? F_WRLCK : F_RDLCK, begin, end);
}

int Descriptor::unlock_range(Count begin, Count end) const noexcept {
  return lock_call(fd_, F_UNLCK, begin, end);
}

}  // namespace mpc::io
