#include "mpi/spawn/launch.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "base/service_thread.h"
#include "runtime/message/message.h"
#include "scheduler/as_nobody.h"
#include "scheduler/outside_work.h"

namespace mpc::mpi {
namespace {

// Shared by the rank and the thread: each may be the last one to use it.
struct Task {
  Task(job::Rank& rank, const std::vector<job::AppSpec>& wanted)
      : self(rank), apps(wanted) {}
  job::Rank& self;
  const std::vector<job::AppSpec> apps;
  Result<job::World> outcome{Errc::kInternal, "nothing has been started"};
  std::mutex
      mutex;  // held while notifying: the rank must not end before notify() returns
  std::atomic<bool> is_over{false};
};

void* run(void* argument) {
  const std::unique_ptr<std::shared_ptr<Task>> owned(
      static_cast<std::shared_ptr<Task>*>(argument));
  Task& task = **owned;
  task.outcome = task.self.job->spawn(task.apps, task.self.world_rank);
  const std::lock_guard lock(task.mutex);
  // release pairs with the acquire in launch().
  task.is_over.store(true, std::memory_order_release);
  msg::notify(task.self);
  return nullptr;
}

class LaunchReason final : public sched::WaitReason {
 public:
  explicit LaunchReason(const char* what) noexcept : what_(what) {}
  std::string text() const override {
    return fmt::format("{}: programs are loaded", what_);
  }

 private:
  const char* what_;
};

// AsNobody: otherwise the code that interposes on threads would make it one of the rank's.
Result<> start_thread(const std::shared_ptr<Task>& task, const char* what) {
  auto owned = std::make_unique<std::shared_ptr<Task>>(task);
  const sched::AsNobody nobody;
  auto thread = start_service_thread(what, &run, owned.get());
  MPC_TRY(thread);
  (void)owned.release();  // run()
  ::pthread_detach(*thread);
  return {};
}

}  // namespace

Result<job::World> launch(job::Rank& self, const std::vector<job::AppSpec>& apps,
                          const char* what) {
  // Not a deadlock: all ranks may wait meanwhile.
  sched::begin_outside_work();
  const auto task = std::make_shared<Task>(self, apps);
  if (auto started = start_thread(task, what); !started) {
    sched::end_outside_work();
    return started.error();
  }
  const auto ready = [](void* argument) {
    return static_cast<Task*>(argument)->is_over.load(std::memory_order_acquire);
  };
  msg::wait_until(self, nullptr, 0, ready, task.get(), LaunchReason(what));
  sched::end_outside_work();
  const std::lock_guard lock(task->mutex);
  return task->outcome;
}

}  // namespace mpc::mpi
