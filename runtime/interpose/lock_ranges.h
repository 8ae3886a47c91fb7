#pragma once
// Lock ranges: the bytes of a file that a lock covers, as struct flock says it and as we store it.
//
// Role:      turns a program's arguments of fcntl(2) into offsets from the file's beginning, and
//            back; says which ranges conflict, and what remains of old ones below a new one.
// Users:     runtime/interpose/lock_table.h, runtime/interpose/file_locks.cpp.
// Threads:   pure functions, but absolute_range() asks for the offset and the size of the file.
// See also:  POSIX.1 fcntl(), "Locking".

#include <fcntl.h>
#include <sys/types.h>

#include <limits>
#include <vector>

namespace mpc::interpose::locks {

using Flock = struct flock;

inline constexpr off_t kToTheEnd = std::numeric_limits<off_t>::max();

// [begin, end) of a file, from its beginning.
struct Range {
  off_t begin, end;
  short type;  // F_RDLCK, F_WRLCK, F_UNLCK

  bool overlaps(const Range& other) const {
    return begin < other.end && other.begin < end;
  }
  bool conflicts_with(const Range& other) const {
    return overlaps(other) && (type == F_WRLCK || other.type == F_WRLCK);
  }
};

// The range that `lock` means for the open file `fd`. False: errno says what is wrong with it.
bool absolute_range(int fd, const Flock& lock, Range* out);
Flock as_flock(const Range& range);

// Replaces the rank's locks within the new range by that range.
void replace(std::vector<Range>& ranges, const Range& with);

}  // namespace mpc::interpose::locks
