#include "runtime/interpose/file_locks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <mutex>

#include "runtime/interpose/descriptors.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/lock_table.h"
#include "runtime/interpose/signals.h"

namespace mpc::interpose {
namespace {

using namespace locks;

bool may_have(int fd, short type) {
  const int access = plain_fcntl(fd, F_GETFL, nullptr) & O_ACCMODE;
  const bool is_allowed = (type == F_RDLCK && access != O_WRONLY) ||
                          (type == F_WRLCK && access != O_RDONLY) || type == F_UNLCK;
  if (type != F_RDLCK && type != F_WRLCK && type != F_UNLCK)
    errno = EINVAL;
  else if (!is_allowed)
    errno = EBADF;
  return is_allowed;
}

// Caller holds g_mutex. 0: locked; -1 with EAGAIN: another rank or process has it.
int try_lock(const job::Rank& rank, int fd, const struct stat& status,
             const Range& range) {
  const File file{status.st_dev, status.st_ino};
  auto found = find_owner(rank, file);
  if (found == owners().end() && range.type == F_UNLCK) return 0;
  Owner* owner = found != owners().end() ? &*found : make_owner(rank, fd, status);
  if (owner == nullptr) return -1;
  Flock lock = as_flock(range);
  if (plain_fcntl(owner->fd, F_OFD_SETLK, &lock) != 0) {
    if (errno == EACCES) errno = EAGAIN;
    if (errno == EBADF)
      errno = ENOLCK;  // the rank's first descriptor was for reading only
    return -1;
  }
  replace(owner->ranges, range);
  if (range.type != F_WRLCK) wake_next(file, range, nullptr);
  return 0;
}

// Other ranks of this process wake the waiter; for the locks
// of other processes it checks now and then.
int wait_for_lock(const job::Rank& rank, int fd, const struct stat& status,
                  const Range& range) {
  constexpr uint64_t kFirstLookNs = 1'000'000;
  constexpr uint64_t kLastLookNs = 64'000'000;
  Waiter waiter(rank, {status.st_dev, status.st_ino}, range);
  std::unique_lock lock(g_mutex);
  const uint32_t interruptions = interruptions_of(rank);
  if (try_lock(rank, fd, status, range) == 0) return 0;
  for (uint64_t look_ns = kFirstLookNs; errno == EAGAIN;
       look_ns = std::min(2 * look_ns, kLastLookNs)) {
    if (closes_a_circle(waiter)) {
      errno = EDEADLK;
      return -1;
    }
    waiters().push_back(&waiter);
    lock.unlock();
    waiter.execution->park_until(sched::now_ns() + look_ns, waiter);
    lock.lock();
    const int result = try_lock(rank, fd, status, range);
    const int error = errno;
    if (result != 0 || range.type == F_RDLCK) wake_next(waiter.file, range, &waiter);
    waiters().remove(&waiter);
    if (result == 0) return 0;
    errno = error == EAGAIN && interruptions_of(rank) != interruptions ? EINTR : error;
  }
  return -1;
}

int set_lock(const job::Rank& rank, int fd, const Flock& wanted, bool waits) {
  struct stat status;
  Range range;
  if (::fstat(fd, &status) != 0 || !may_have(fd, wanted.l_type) ||
      !absolute_range(fd, wanted, &range))
    return -1;
  if (waits && range.type != F_UNLCK) return wait_for_lock(rank, fd, status, range);
  const std::lock_guard lock(g_mutex);
  return try_lock(rank, fd, status, range);
}

int get_lock(const job::Rank& rank, int fd, Flock* wanted) {
  struct stat status;
  Range range;
  if (::fstat(fd, &status) != 0 || !absolute_range(fd, *wanted, &range)) return -1;
  const std::lock_guard lock(g_mutex);
  const auto owner = find_owner(rank, {status.st_dev, status.st_ino});
  Flock found = as_flock(range);
  if (plain_fcntl(owner != owners().end() ? owner->fd : fd, F_OFD_GETLK, &found) != 0)
    return -1;
  if (found.l_type == F_UNLCK) {
    wanted->l_type = F_UNLCK;
    return 0;
  }
  *wanted = found;
  if (wanted->l_pid < 0)
    wanted->l_pid = ::getpid();  // another rank's, or a description's
  return 0;
}

int rank_fcntl(int fd, int command, void* argument) {
  const bool is_of_locks =
      command == F_SETLK || command == F_SETLKW || command == F_GETLK;
  job::Rank* rank = is_of_locks && !is_forked_child() ? own_rank() : nullptr;
  if (rank == nullptr) return plain_fcntl(fd, command, argument);
  if (argument == nullptr) {
    errno = EFAULT;
    return -1;
  }
  auto* lock = static_cast<Flock*>(argument);
  if (command == F_GETLK) return get_lock(*rank, fd, lock);
  return set_lock(*rank, fd, *lock, command == F_SETLKW);
}

int rank_lockf(int fd, int command, off_t length) {
  Flock lock{};
  lock.l_type = command == F_ULOCK ? F_UNLCK : F_WRLCK;
  lock.l_whence = SEEK_CUR;
  lock.l_len = length;
  switch (command) {
    case F_LOCK:
      return rank_fcntl(fd, F_SETLKW, &lock);
    case F_TLOCK:
    case F_ULOCK:
      return rank_fcntl(fd, F_SETLK, &lock);
    case F_TEST:
      if (rank_fcntl(fd, F_GETLK, &lock) != 0) return -1;
      if (lock.l_type == F_UNLCK) return 0;
      errno = EACCES;
      return -1;
    default:
      errno = EINVAL;
      return -1;
  }
}

}  // namespace

ClosingLocks::ClosingLocks(int fd) noexcept {
  if (!has_locks() || own_rank() == nullptr ||
      is_forked_child())  // also of vfork(), which sees its parent's locks here
    return;
  struct stat status;
  const int error = errno;
  has_file_ = ::fstat(fd, &status) == 0;
  errno = error;
  if (!has_file_) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

void ClosingLocks::drop() noexcept {
  const int error = errno;
  {
    const std::lock_guard lock(g_mutex);
    const auto owner = find_owner(*own_rank(), {device_, inode_});
    if (owner != owners().end()) erase_owner(owner);
  }
  errno = error;
}

}  // namespace mpc::interpose

using mpc::interpose::meant_fd;

MPC_EXPORT int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return mpc::interpose::rank_fcntl(meant_fd(fd, __builtin_return_address(0)), command,
                                    argument);
}
MPC_EXPORT int fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return mpc::interpose::rank_fcntl(meant_fd(fd, __builtin_return_address(0)), command,
                                    argument);
}
MPC_EXPORT int lockf(int fd, int command, off_t length) {
  return mpc::interpose::rank_lockf(fd, command, length);
}
MPC_EXPORT int lockf64(int fd, int command, off_t length) {
  return mpc::interpose::rank_lockf(fd, command, length);
}
