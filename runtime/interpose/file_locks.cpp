#include "runtime/interpose/file_locks.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/signals.h"

namespace mpc::interpose {
namespace {

using sched::Execution;
using Flock = struct flock;

constexpr off_t kToTheEnd = std::numeric_limits<off_t>::max();

int plain_fcntl(int fd, int command, void* argument) {
  return MPC_NEXT(fcntl, int (*)(int, int, ...))(fd, command, argument);
}

struct File {
  dev_t device;
  ino_t inode;
  bool operator==(const File& other) const {
    return device == other.device && inode == other.inode;
  }
};

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

// What one rank has locked in one file.
struct Owner {
  const job::Rank* rank;
  File file;
  int fd;            // of a description that is the rank's alone, see open_own()
  bool is_writable;  // fd may have write locks
  std::vector<Range> ranges;
};

// A thread of a rank that waits for a lock; on its stack.
struct Waiter final : sched::WaitReason {
  Waiter(const job::Rank& waiting, const File& of, const Range& wanted)
      : rank(&waiting), file(of), range(wanted) {}
  const job::Rank* rank;
  File file;
  Range range;
  Execution* execution = &Execution::self();
  std::string text() const override { return "fcntl(F_SETLKW): a lock of a file"; }
  bool can_end_by_itself() const override {
    return true;
  }  // another process may have it
};

// All of it under g_mutex, which is held over short stretches without a switch.
std::mutex g_mutex;
std::list<Owner>& owners() {
  static auto* const list = new std::list<Owner>;  // closed to the end of the process
  return *list;
}
std::list<Waiter*>& waiters() {  // the oldest first
  static auto* const list = new std::list<Waiter*>;
  return *list;
}
// owners().size(), read without the mutex: a rank sees what it has added itself.
constinit std::atomic<size_t> g_owner_count{0};

// --- ranges ----------------------------------------------------------------------------------

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

// What the rank has after this: the new range in place of what it had there.
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

// --- owners ----------------------------------------------------------------------------------

std::list<Owner>::iterator find_owner(const job::Rank& rank, const File& file) {
  return std::find_if(owners().begin(), owners().end(), [&](const Owner& owner) {
    return owner.rank == &rank && owner.file == file;
  });
}

// A description of the same file that no other rank has: opened anew, out of the way of programs
// that count on the next free numbers. Where that is not allowed, the caller's own is used.
int open_own(int fd, bool is_regular, bool* is_writable) {
  constexpr int kFirstNumber = 500;
  const int access = plain_fcntl(fd, F_GETFL, nullptr) & O_ACCMODE;
  *is_writable = true;
  int own = -1;
  if (is_regular) {
    char path[32];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    own = ::open(path, O_RDWR | O_CLOEXEC);
    if (own < 0 && access == O_RDONLY) {
      *is_writable = false;
      own = ::open(path, O_RDONLY | O_CLOEXEC);
    }
  }
  const int from = own >= 0 ? own : fd;
  if (own < 0) *is_writable = access != O_RDONLY;
  const auto duplicate = [&](intptr_t lowest) {
    return plain_fcntl(from, F_DUPFD_CLOEXEC, reinterpret_cast<void*>(lowest));
  };
  int high = duplicate(kFirstNumber);
  if (high < 0) high = duplicate(0);  // the limit of open files is low
  if (own >= 0) MPC_NEXT(close, int (*)(int))(own);
  return high;
}

Owner* make_owner(const job::Rank& rank, int fd, const struct stat& status) {
  bool is_writable = false;
  const int own = open_own(fd, S_ISREG(status.st_mode), &is_writable);
  if (own < 0) {
    errno = ENOLCK;
    return nullptr;
  }
  owners().push_back({&rank, {status.st_dev, status.st_ino}, own, is_writable, {}});
  g_owner_count.store(owners().size(), std::memory_order_relaxed);
  return &owners().back();
}

// The oldest waiter behind `after` (null: of all) that this range was in the way of.
void wake_next(const File& file, const Range& range, const Waiter* after) {
  bool is_behind = after == nullptr;
  for (Waiter* waiter : waiters()) {
    if (is_behind && waiter->file == file && waiter->range.overlaps(range)) {
      waiter->execution->unpark();
      return;
    }
    is_behind = is_behind || waiter == after;
  }
}

void erase_owner(std::list<Owner>::iterator owner) {
  const Range all{0, kToTheEnd, F_UNLCK};
  Flock lock = as_flock(all);
  plain_fcntl(owner->fd, F_OFD_SETLK,
              &lock);  // the description may have other descriptors
  MPC_NEXT(close, int (*)(int))(owner->fd);
  const File file = owner->file;
  owners().erase(owner);
  g_owner_count.store(owners().size(), std::memory_order_relaxed);
  for (Waiter* waiter : waiters())
    if (waiter->file == file) waiter->execution->unpark();
}

// Does the rank wait, through those that it waits for, for itself?
bool closes_a_circle(const Waiter& wanted) {
  std::vector<const Waiter*> open{&wanted};
  std::vector<const job::Rank*> seen;
  while (!open.empty()) {
    const Waiter& waiter = *open.back();
    open.pop_back();
    for (const Owner& owner : owners()) {
      if (owner.rank == waiter.rank || !(owner.file == waiter.file)) continue;
      if (std::none_of(
              owner.ranges.begin(), owner.ranges.end(),
              [&](const Range& held) { return held.conflicts_with(waiter.range); }))
        continue;
      if (owner.rank == wanted.rank) return true;
      if (std::find(seen.begin(), seen.end(), owner.rank) != seen.end()) continue;
      seen.push_back(owner.rank);
      for (const Waiter* other : waiters())
        if (other->rank == owner.rank) open.push_back(other);
    }
  }
  return false;
}

// --- the three commands ----------------------------------------------------------------------

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

// Caller holds g_mutex. 0: done; -1 with EAGAIN: somebody else has it.
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

// Others of this process wake the waiter; for the locks of other processes it looks now and then.
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

void drop_locks_of_rank(job::Rank& rank) {
  if (g_owner_count.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(g_mutex);
  for (auto owner = owners().begin(); owner != owners().end();) {
    const auto next = std::next(owner);
    if (owner->rank == &rank) erase_owner(owner);
    owner = next;
  }
}

// A child has no locks: it must not keep those of the ranks alive either.
void leave_locks_to_parent() {
  for (const Owner& owner : owners()) MPC_NEXT(close, int (*)(int))(owner.fd);
  owners().clear();
  waiters().clear();
  g_owner_count.store(0, std::memory_order_relaxed);
  g_mutex.unlock();
}

__attribute__((constructor)) void register_hooks() {
  job::Job::at_rank_end(job::HookOrder::kFileLocks, &drop_locks_of_rank);
  ::pthread_atfork([] { g_mutex.lock(); }, [] { g_mutex.unlock(); },
                   &leave_locks_to_parent);
}

}  // namespace

ClosingLocks::ClosingLocks(int fd) noexcept {
  if (g_owner_count.load(std::memory_order_relaxed) == 0 || own_rank() == nullptr ||
      is_forked_child())  // of vfork(), too, which sees the locks of its parent here
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

using mpc::interpose::ClosingLocks;

MPC_EXPORT int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return mpc::interpose::rank_fcntl(fd, command, argument);
}
MPC_EXPORT int fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return mpc::interpose::rank_fcntl(fd, command, argument);
}
MPC_EXPORT int lockf(int fd, int command, off_t length) {
  return mpc::interpose::rank_lockf(fd, command, length);
}
MPC_EXPORT int lockf64(int fd, int command, off_t length) {
  return mpc::interpose::rank_lockf(fd, command, length);
}
