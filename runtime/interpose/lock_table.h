#pragma once
// Lock table: which rank has locked what, and which threads of ranks wait for it.
//
// Role:      one entry for each rank and file, with the open file description that holds the rank's
//            locks; wakes waiters when a lock is dropped; finds circles of waiting ranks.
// Users:     runtime/interpose/file_locks.cpp.
// Threads:   under g_mutex, which is held over short stretches without a switch; has_locks() by any.
// See also:  fcntl_locking(2), "Open file description locks".

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/interpose/lock_ranges.h"
#include "runtime/job/rank.h"
#include "scheduler/execution.h"

namespace mpc::interpose::locks {

struct File {
  dev_t device;
  ino_t inode;
  bool operator==(const File& other) const {
    return device == other.device && inode == other.inode;
  }
};

// The locks of one rank in one file.
struct Owner {
  const job::Rank* rank;
  File file;
  int fd;            // of a description that only this rank has, see open_own()
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
  sched::Execution* execution = &sched::Execution::self();
  std::string text() const override { return "fcntl(F_SETLKW): a lock of a file"; }
  bool can_end_by_itself() const override {
    return true;
  }  // another process may have it
};

extern std::mutex g_mutex;
std::list<Owner>& owners();
std::list<Waiter*>& waiters();  // the oldest first

// owners().size(), read without the mutex: a rank sees what it has added itself.
extern constinit std::atomic<size_t> g_owner_count;
inline bool has_locks() noexcept {
  return g_owner_count.load(std::memory_order_relaxed) != 0;
}

std::list<Owner>::iterator find_owner(const job::Rank& rank, const File& file);
// Creates the file's entry, without any range. Null: errno says why.
Owner* make_owner(const job::Rank& rank, int fd, const struct stat& status);
// Drops its locks and wakes all threads that wait for the file.
void erase_owner(std::list<Owner>::iterator owner);

// Wakes the oldest waiter after `after` (null: of all) that this range has blocked.
void wake_next(const File& file, const Range& range, const Waiter* after);
// Does the rank wait for itself, by way of the ranks that it waits for?
bool closes_a_circle(const Waiter& wanted);

// Libc's own fcntl().
int plain_fcntl(int fd, int command, void* argument);

}  // namespace mpc::interpose::locks
