// The implementation of progress.h: the cores of a scheduler, and a progress thread for each rank.
#include "scheduler/progress/core_choice.h"
#include "scheduler/progress/progress.h"
#include "scheduler/progress/progress_thread.h"
#include "scheduler/scheduler_impl.h"

namespace mpc::sched {
namespace {

class ProgressCoresImpl final : public ProgressCores {
 public:
  ProgressCoresImpl(SchedulerImpl& scheduler, const topo::Machine& machine,
                    const Config& config)
      : scheduler_(scheduler),
        choice_(scheduler.workers(), scheduler.bindings(), machine, config) {}

  std::unique_ptr<ProgressThread> make_thread(void* identity, int rank,
                                              int home_worker) override {
    return std::make_unique<ProgressThreadImpl>(scheduler_, choice_, identity, rank,
                                                home_worker);
  }
  int communication_workers() const noexcept override {
    return choice_.core_count() - choice_.application_workers();
  }
  int application_workers() const noexcept override {
    return choice_.application_workers();
  }
  ProgressPolicy policy() const noexcept override { return choice_.policy(); }

 private:
  SchedulerImpl& scheduler_;
  CoreChoice choice_;
};

}  // namespace

std::unique_ptr<ProgressCores> ProgressCores::make(Scheduler& scheduler,
                                                   const topo::Machine& machine,
                                                   const Config& config) {
  return std::make_unique<ProgressCoresImpl>(static_cast<SchedulerImpl&>(scheduler),
                                             machine, config);
}

}  // namespace mpc::sched
