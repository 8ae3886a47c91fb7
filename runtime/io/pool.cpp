#include "runtime/io/pool.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/counter.h"
#include "base/futex.h"
#include "base/service_thread.h"
#include "base/settings.h"
#include "scheduler/as_nobody.h"
#include "scheduler/outside_work.h"

namespace mpc::io {
namespace {

IntSetting threads_setting{
    "io.threads",
    4,
    "",
    "Threads that do non-blocking accesses to files, as far as io_uring does not "
    "(io.async); they start when they are needed",
    1,
    64};

Counter access_counter{
    "io.thread_accesses",
    "Non-blocking accesses to files, or parts of collective ones, that "
    "threads have done"};

// The cores on which the process could run when it started. Pool threads use all of them: one that
// inherits a worker's affinity would run on that worker's core only.
cpu_set_t g_allowed;
[[gnu::constructor]] void remember_affinity() {
  raw_syscall(SYS_sched_getaffinity, 0, sizeof g_allowed,
              reinterpret_cast<long>(&g_allowed));
}

class Pool {
 public:
  // Never destroyed: its threads may outlive main().
  static Pool& instance() noexcept {
    static Pool* const pool = new Pool;
    return *pool;
  }

  void add(std::function<void()> task) {
    sched::begin_outside_work();
    bool must_start = false;
    {
      const std::lock_guard inside(mutex_);
      queue_.push_back(std::move(task));
      must_start = idle_ < static_cast<int>(queue_.size()) && threads_ < pool_threads();
      if (must_start) ++threads_;
    }
    if (must_start) start();
    wake_.notify_one();
  }

 private:
  void start() {
    const sched::AsNobody nobody;
    auto thread = start_service_thread(
        "accesses to files",
        [](void* pool) -> void* {
          static_cast<Pool*>(pool)->work();
          return nullptr;
        },
        this);
    if (thread) {
      ::pthread_detach(*thread);
      return;
    }
    std::function<void()> own;
    {
      const std::lock_guard inside(mutex_);
      if (--threads_ > 0 || queue_.empty()) return;
      own = std::move(queue_.front());
      queue_.pop_front();
    }
    own();
    sched::end_outside_work();
  }

  [[noreturn]] void work() {
    raw_syscall(SYS_sched_setaffinity, 0, sizeof g_allowed,
                reinterpret_cast<long>(&g_allowed));
    std::unique_lock inside(mutex_);
    for (;;) {
      ++idle_;
      wake_.wait(inside, [&] { return !queue_.empty(); });
      --idle_;
      std::function<void()> task = std::move(queue_.front());
      queue_.pop_front();
      inside.unlock();
      task();
      task = nullptr;  // destroy what it holds before everything counts as at rest
      sched::end_outside_work();
      inside.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  int threads_ = 0, idle_ = 0;
};

}  // namespace

int pool_threads() noexcept { return static_cast<int>(threads_setting.get()); }

void run_soon(std::function<void()> task) {
  access_counter.add();
  Pool::instance().add(std::move(task));
}

}  // namespace mpc::io
