#pragma once
// SharedFile: what the members of one collective open share within a process.
//
// Role:      the descriptor, the lock of the file, the name under which it was opened.
// Users:     mpi/objects/file.h, mpi/io.
// Threads:   any.
// See also:  docs/design/0028-files.md.

#include <atomic>
#include <memory>
#include <string>

#include "runtime/io/descriptor.h"
#include "runtime/io/file_lock.h"
#include "runtime/io/transfer.h"

namespace mpc::io {

class SharedFile {
 public:
  struct Company {
    int process;       // the caller's number, of virtual ones, which share nothing
    bool is_alone;     // no other process takes part in the open
    bool is_only_one;  // the job has no other process
  };
  // Returns errno, or 0 and *out.
  static int open(const std::string& path, int flags, unsigned mode, Company company,
                  std::shared_ptr<SharedFile>* out);

  Descriptor& descriptor() noexcept { return *descriptor_; }
  FileLock& lock() noexcept { return *lock_; }
  const std::string& path() const noexcept { return path_; }
  bool is_alone() const noexcept { return company_.is_alone; }
  // Counts non-blocking accesses that are under way: close() leaves the file open for them.
  void begin_access() noexcept { accesses_.fetch_add(1, std::memory_order_relaxed); }
  void end_access() noexcept { accesses_.fetch_sub(1, std::memory_order_release); }
  int close() noexcept;  // errno, or 0

  Target target(const Tuning& tuning) noexcept {
    const bool may_rewrite =
        descriptor_->can_read() &&
        (company_.is_only_one || tuning.sieve_writes == Switch::kEnable);
    return {*descriptor_, lock_.get(), may_rewrite, !company_.is_only_one, tuning};
  }

 private:
  std::string path_;              // absolute
  std::atomic<int> accesses_{0};  // release: the access is over; acquire: close()
  std::unique_ptr<Descriptor> descriptor_;
  std::shared_ptr<FileLock> lock_;
  Company company_{0, true, true};
};

// The absolute path in the calling rank's working directory.
std::string absolute_path(const std::string& path);

// Atomic mode: while it lives it keeps other accesses to [begin, end) of the file out: all those of
// the same open, and those in atomic mode of others.
class AtomicAccess {
 public:
  AtomicAccess(SharedFile& file, Count begin, Count end, bool is_read) noexcept;
  ~AtomicAccess();
  AtomicAccess(const AtomicAccess&) = delete;
  AtomicAccess& operator=(const AtomicAccess&) = delete;
  int error() const noexcept { return error_; }

 private:
  SharedFile& file_;
  const Count begin_, end_;
  int error_ = 0;
};

}  // namespace mpc::io
