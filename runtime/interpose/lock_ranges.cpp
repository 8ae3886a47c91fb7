#include "runtime/interpose/lock_ranges.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace mpc::interpose::locks {

// Source: POSIX.1 fcntl(), "Locking": l_len < 0 locks what is before l_start.
bool absolute_range(int fd, const Flock& lock, Range* out) {
  off_t base = 0;
  if (lock.l_whence == SEEK_CUR) {
    base = ::lseek(fd, 0, SEEK_CUR);
  } else if (lock.l_whence == SEEK_END) {
    struct stat status;
    if (::fstat(fd, &status) != 0) return false;
    base = status.st_size;
  } else if (lock.l_whence != SEEK_SET) {
    base = -1;
  }
  off_t begin = 0;
  off_t end = kToTheEnd;
  if (base < 0 || __builtin_add_overflow(base, lock.l_start, &begin) ||
      (lock.l_len != 0 && __builtin_add_overflow(begin, lock.l_len, &end))) {
    errno = base < 0 ? EINVAL : EOVERFLOW;
    return false;
  }
  if (lock.l_len < 0) std::swap(begin, end);
  *out = {begin, end, lock.l_type};
  if (begin >= 0) return true;
  errno = EINVAL;
  return false;
}

Flock as_flock(const Range& range) {
  Flock lock{};
  lock.l_type = range.type;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.begin;
  lock.l_len = range.end == kToTheEnd ? 0 : range.end - range.begin;
  return lock;
}

void replace(std::vector<Range>& ranges, const Range& with) {
  std::vector<Range> out;
  for (const Range& old : ranges) {
    if (!old.overlaps(with)) {
      out.push_back(old);
      continue;
    }
    if (old.begin < with.begin) out.push_back({old.begin, with.begin, old.type});
    if (with.end < old.end) out.push_back({with.end, old.end, old.type});
  }
  if (with.type != F_UNLCK) out.push_back(with);
  ranges = std::move(out);
}

}  // namespace mpc::interpose::locks
