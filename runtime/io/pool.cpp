#include "runtime/io/pool.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/clock.h"
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

IntSetting grace_setting{
    "io.grace_us",
    200,
    "us",
    "If no core is idle, a non-blocking access to a file is left for so long to its "
    "rank, which moves the data itself "
    "when it waits; then threads or io_uring begin. 0: they begin at once",
    0,
    1'000'000};

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

  void add(std::function<void()> task, uint64_t begin_ns) {
    sched::begin_outside_work();
    bool must_start = false, must_wake = false;
    {
      const std::lock_guard inside(mutex_);
      // In the order of their times; nearly always at the end.
      auto at = queue_.end();
      while (at != queue_.begin() && std::prev(at)->begin_ns > begin_ns) --at;
      const bool is_first =
          queue_.insert(at, {std::move(task), begin_ns}) == queue_.begin();
      if (is_watched_ && is_first) due_.notify_one();
      must_wake = !is_watched_;
      must_start = must_wake && needs_thread();
    }
    if (must_start) start();
    if (must_wake) wake_.notify_one();
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
      own = std::move(queue_.front().task);
      queue_.pop_front();
    }
    own();
    sched::end_outside_work();
  }

  // Called with the mutex; counts the thread.
  bool needs_thread() {
    if (idle_ > 0 || threads_ >= pool_threads()) return false;
    ++threads_;
    return true;
  }

  // The first task, once its time has come. One thread at a time waits for that; the others sleep.
  std::function<void()> next_task(std::unique_lock<std::mutex>& inside) {
    ++idle_;
    wake_.wait(inside, [&] { return !queue_.empty() && !is_watched_; });
    --idle_;
    is_watched_ = true;
    for (uint64_t now = now_ns(); queue_.front().begin_ns > now; now = now_ns())
      due_.wait_for(inside, std::chrono::nanoseconds(queue_.front().begin_ns - now));
    is_watched_ = false;
    std::function<void()> task = std::move(queue_.front().task);
    queue_.pop_front();
    return task;
  }

  [[noreturn]] void work() {
    raw_syscall(SYS_sched_setaffinity, 0, sizeof g_allowed,
                reinterpret_cast<long>(&g_allowed));
    std::unique_lock inside(mutex_);
    for (;;) {
      std::function<void()> task = next_task(inside);
      const bool is_more = !queue_.empty();
      const bool must_start = is_more && needs_thread();
      inside.unlock();
      if (must_start) start();
      if (is_more) wake_.notify_one();
      task();
      task = nullptr;  // destroy what it holds before everything counts as at rest
      sched::end_outside_work();
      inside.lock();
    }
  }

  struct Entry {
    std::function<void()> task;
    uint64_t begin_ns;
  };

  std::mutex mutex_;
  std::condition_variable
      wake_;  // a thread may take the first task, or wait for its time
  std::condition_variable due_;  // another task has become the first one
  std::deque<Entry> queue_;
  bool is_watched_ = false;  // a thread waits for the time of the first task
  int threads_ = 0, idle_ = 0;
};

}  // namespace

int pool_threads() noexcept { return static_cast<int>(threads_setting.get()); }

void run_soon(std::function<void()> task, uint64_t begin_ns) {
  Pool::instance().add(std::move(task), begin_ns);
}

uint64_t time_to_begin(const sched::Scheduler* scheduler) noexcept {
  const int workers = scheduler != nullptr ? scheduler->worker_count() : 1;
  const bool is_idle = CPU_COUNT(&g_allowed) > workers ||
                       (scheduler != nullptr && scheduler->has_idle_core());
  return is_idle || grace_setting.get() == 0
             ? 0
             : now_ns() + static_cast<uint64_t>(grace_setting.get()) * 1000;
}

void note_thread_access() noexcept { access_counter.add(); }

}  // namespace mpc::io
