#pragma once
// FileLock: separates accesses of one process to the same file where they must not mix.
//
// Role:      a readers-writer lock. An access that writes data without gaps shares it; one that
//            reads a window, changes parts of it and writes it back holds it alone, and so does one
//            in atomic mode. An execution that is running may acquire it before a waiter, which
//            would have to be woken first, until the first waiter has waited for long: to hand the
//            lock on each time would cost a wake-up for each window.
// Users:     runtime/io, mpi/io.
// Threads:   any execution; a waiting rank gives its core away.
// See also:  docs/design/0028-files.md.

#include <deque>
#include <memory>

#include "base/mutex.h"
#include "scheduler/execution.h"

namespace mpc::io {

class FileLock {
 public:
  // The lock of a file: the same one for all that have it open in this address space and in
  // `process` (of virtual ones). Cost: one mutex.
  static std::shared_ptr<FileLock> of(int process, uint64_t device, uint64_t inode);

  void lock(bool is_shared) noexcept;  // Switches: yes
  // False: it is not free now.
  bool try_lock(bool is_shared) noexcept;
  void unlock() noexcept;  // by any execution

 private:
  struct Waiter {
    sched::Execution* execution;
    bool is_shared;
    uint64_t since_ns;
  };
  bool may_enter(bool is_shared) const MPC_REQUIRES(mutex_) {
    return holders_ == 0 || (holders_ > 0 && is_shared);
  }

  bool is_first_impatient() const noexcept MPC_REQUIRES(mutex_);
  void enter(bool is_shared) MPC_REQUIRES(mutex_) {
    holders_ = is_shared ? holders_ + 1 : -1;
  }
  void call_first() noexcept MPC_REQUIRES(mutex_);  // if it may enter

  Mutex mutex_;
  int holders_ MPC_GUARDED_BY(mutex_) = 0;  // -1: held alone
  std::deque<Waiter*> queue_ MPC_GUARDED_BY(mutex_);
};

class FileLocked {
 public:
  // Null: nothing to lock.
  FileLocked(FileLock* lock, bool is_shared) noexcept : lock_(lock) {
    if (lock_ != nullptr) lock_->lock(is_shared);
  }
  ~FileLocked() {
    if (lock_ != nullptr) lock_->unlock();
  }
  FileLocked(const FileLocked&) = delete;
  FileLocked& operator=(const FileLocked&) = delete;

 private:
  FileLock* const lock_;
};

}  // namespace mpc::io
