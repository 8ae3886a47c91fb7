#include "runtime/interpose/lock_table.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "runtime/interpose/next.h"
#include "runtime/job/job.h"

namespace mpc::interpose::locks {

int plain_fcntl(int fd, int command, void* argument) {
  return MPC_NEXT(fcntl, int (*)(int, int, ...))(fd, command, argument);
}

constinit std::mutex g_mutex;
std::list<Owner>& owners() {
  static auto* const list = new std::list<Owner>;  // kept until the end of the process
  return *list;
}
std::list<Waiter*>& waiters() {
  static auto* const list = new std::list<Waiter*>;
  return *list;
}
constinit std::atomic<size_t> g_owner_count{0};

std::list<Owner>::iterator find_owner(const job::Rank& rank, const File& file) {
  return std::find_if(owners().begin(), owners().end(), [&](const Owner& owner) {
    return owner.rank == &rank && owner.file == file;
  });
}

namespace {

// A description of the same file that no other rank has: opened separately, away from the next free
// numbers, which programs rely on. If that is not allowed, the caller's own is used.
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

}  // namespace

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

namespace {

void drop_locks_of_rank(job::Rank& rank) {
  if (!has_locks()) return;
  const std::lock_guard lock(g_mutex);
  for (auto owner = owners().begin(); owner != owners().end();) {
    const auto next = std::next(owner);
    if (owner->rank == &rank) erase_owner(owner);
    owner = next;
  }
}

// A child has no locks, and must not keep those of the ranks alive.
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

}  // namespace mpc::interpose::locks
