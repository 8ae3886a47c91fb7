#include "runtime/io/shared_file.h"

#include <unistd.h>

#include <climits>

namespace mpc::io {

int SharedFile::open(const std::string& path, int flags, unsigned mode, Company company,
                     std::shared_ptr<SharedFile>* out) {
  auto made = std::make_shared<SharedFile>();
  const int error = Descriptor::open(path, flags, mode, &made->descriptor_);
  if (error != 0) return error;
  const Descriptor& descriptor = *made->descriptor_;
  made->lock_ = FileLock::of(company.process, descriptor.device(), descriptor.inode());
  made->path_ = path;
  made->company_ = company;
  *out = std::move(made);
  return 0;
}

int SharedFile::close() noexcept {
  if (accesses_.load(std::memory_order_acquire) != 0) return 0;
  return descriptor_->close();
}

std::string absolute_path(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr) return path;
  return std::string(here) + "/" + path;
}

// If there are other processes, readers exclude each other as well: a process has one kernel lock
// for all of its ranks, and the first rank to release it would release it for the others.
AtomicAccess::AtomicAccess(SharedFile& file, Count begin, Count end,
                           bool is_read) noexcept
    : file_(file), begin_(begin), end_(end) {
  file_.lock().lock(is_read && file_.is_alone());
  if (!file_.is_alone() && begin < end)
    error_ = file_.descriptor().lock_range(begin, end);
}

AtomicAccess::~AtomicAccess() {
  if (!file_.is_alone() && begin_ < end_ && error_ == 0)
    (void)file_.descriptor().unlock_range(begin_, end_);
  file_.lock().unlock();
}

}  // namespace mpc::io
