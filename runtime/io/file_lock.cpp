#include "runtime/io/file_lock.h"

#include <map>
#include <tuple>

namespace mpc::io {
namespace {

class LockReason final : public sched::WaitReason {
 public:
  std::string text() const override { return "waits for other accesses to a file"; }
  bool can_end_by_itself() const override { return true; }  // the holder is working
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

bool FileLock::is_first_impatient() const noexcept {
  constexpr uint64_t kPatienceNs = 1'000'000;  // the time of several windows
  return !queue_.empty() && sched::now_ns() - queue_.front()->since_ns > kPatienceNs;
}

// A waiter leaves the queue under the mutex, so the first one still exists.
void FileLock::call_first() noexcept {
  if (!queue_.empty() && may_enter(queue_.front()->is_shared))
    queue_.front()->execution->unpark();
}

void FileLock::lock(bool is_shared) noexcept {
  Waiter me{nullptr, is_shared, 0};
  {
    const Locked inside(mutex_);
    if (may_enter(is_shared) && !is_first_impatient()) return enter(is_shared);
    me.execution = &sched::Execution::self();
    me.since_ns = sched::now_ns();
    queue_.push_back(&me);
  }
  const LockReason reason;
  for (;;) {
    me.execution->park(reason);
    const Locked inside(mutex_);
    if (queue_.front() != &me || !may_enter(is_shared)) continue;
    queue_.pop_front();
    enter(is_shared);
    return call_first();
  }
}

bool FileLock::try_lock(bool is_shared) noexcept {
  const Locked inside(mutex_);
  if (!may_enter(is_shared) || is_first_impatient()) return false;
  enter(is_shared);
  return true;
}

void FileLock::unlock() noexcept {
  const Locked inside(mutex_);
  holders_ = holders_ < 0 ? 0 : holders_ - 1;
  call_first();
}

}  // namespace mpc::io
