#include "runtime/io/file_lock.h"

#include <map>
#include <tuple>

namespace mpc::io {
namespace {

class LockReason final : public sched::WaitReason {
 public:
  std::string text() const override { return "waits for other accesses to a file"; }
  bool can_end_by_itself() const override { return true; }  // the holder is at work
};

struct Registry {
  Mutex mutex;
  std::map<std::tuple<int, uint64_t, uint64_t>, std::weak_ptr<FileLock>> locks
      MPC_GUARDED_BY(mutex);
};
Registry& registry() {
  static auto* const the_only_one = new Registry;  // threads may outlive main()
  return *the_only_one;
}

}  // namespace

std::shared_ptr<FileLock> FileLock::of(int process, uint64_t device, uint64_t inode) {
  Registry& all = registry();
  const Locked inside(all.mutex);
  std::erase_if(all.locks, [](const auto& entry) { return entry.second.expired(); });
  auto& entry = all.locks[{process, device, inode}];
  auto lock = entry.lock();
  if (lock == nullptr) entry = lock = std::make_shared<FileLock>();
  return lock;
}

void FileLock::lock(bool is_shared) noexcept {
  Waiter me{&sched::Execution::self(), is_shared};
  {
    const Locked inside(mutex_);
    if (queue_.empty() && may_enter(is_shared)) {
      holders_ = is_shared ? holders_ + 1 : -1;
      return;
    }
    queue_.push_back(&me);
  }
  const LockReason reason;
  while (!me.has_it.load(std::memory_order_acquire)) me.execution->park(reason);
  const Locked inside(mutex_);  // who has given it may still be about to unpark
}

void FileLock::unlock() noexcept {
  const Locked inside(mutex_);
  holders_ = holders_ < 0 ? 0 : holders_ - 1;
  while (!queue_.empty() && may_enter(queue_.front()->is_shared)) {
    Waiter& next = *queue_.front();
    queue_.pop_front();
    holders_ = next.is_shared ? holders_ + 1 : -1;
    sched::Execution& execution = *next.execution;
    // The waiter may be gone after this.
    next.has_it.store(true, std::memory_order_release);
    execution.unpark();
  }
}

}  // namespace mpc::io
