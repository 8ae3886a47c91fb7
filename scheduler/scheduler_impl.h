#pragma once
// SchedulerImpl: the parts of a scheduler, put together.
//
// Role:      creates workers, user-level threads and their stacks, holds and releases them, ends
//            all. It gives the parts what they need of each other; none of them knows this class.
// Users:     scheduler; SpinBudget and scheduler/progress reach it from a worker or a Scheduler.
// Threads:   see each function.
// See also:  scheduler/scheduler.h.
//
//     Worker  <- TaskQueues                       what runs on one core | tasks for several cores
//     Carrier <- CarrierPool                      kernel threads
//     Theft   <- Stealing                         which workers take ready Ults from which
//     UltList <- Quiescence                       all Ults | is there a deadlock?
//     Poller                                   sources of events outside, and who polls them
//     Monitor: watches workers, uses Stealing, CarrierPool, Poller, Quiescence
//     WorkerLoop: what a carrier does, uses TaskQueues, Stealing, Bindings, CarrierPool, Monitor, Poller

#include <sched.h>

#include <atomic>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/thread_safety.h"
#include "scheduler/binding.h"
#include "scheduler/carrier_pool.h"
#include "scheduler/monitor.h"
#include "scheduler/poll/poller.h"
#include "scheduler/quiescence.h"
#include "scheduler/scheduler.h"
#include "scheduler/stacks.h"
#include "scheduler/stealing.h"
#include "scheduler/task/queues.h"
#include "scheduler/ult_list.h"
#include "scheduler/worker.h"

namespace mpc::sched {

class SchedulerImpl final : public Scheduler {
 public:
  explicit SchedulerImpl(const SchedulerConfig& config);
  ~SchedulerImpl() override;
  Result<> start_workers();

  Result<Execution*> spawn(UltSpec spec) override;
  void hold() override;
  void release() override;
  void wait_all() override;
  int worker_count() const override { return static_cast<int>(workers_.size()); }
  int core_of_worker(int worker) const override { return workers_[worker]->core(); }
  bool has_idle_core() const noexcept override;
  TaskQueues& tasks() noexcept override { return tasks_; }
  Poller& poller() noexcept override { return poller_; }
  Quiet quiet() override { return quiescence_.quiet(); }
  void set_tick_hook(TickHook hook) override { monitor_.set_tick_hook(hook); }
  uint64_t handover_count() const override { return monitor_.handover_count(); }
  void set_quiescence_handler(QuiescenceHandler handler) override {
    quiescence_.set_handler(std::move(handler), nullptr);
  }
  void for_each_execution(const std::function<void(const Execution&)>& visit) override;

  const std::vector<std::unique_ptr<Worker>>& workers() const noexcept {
    return workers_;
  }
  Bindings& bindings() noexcept { return bindings_; }
  Stealing& stealing() noexcept { return stealing_; }
  Quiescence& quiescence() noexcept { return quiescence_; }
  Monitor& monitor() noexcept { return monitor_; }

 private:
  Carrier::Plan plan_of_carriers();
  static void run_carrier(Carrier& carrier, void* scheduler);
  void add_bindings();
  void begin_polling() noexcept;
  int node_of(const Worker& worker) const;

  const SchedulerConfig config_;
  bool has_several_nodes_ = false;
  // Declared last of all: they must live as long as another thread may unpark them.
  std::vector<std::unique_ptr<Ult>> ended_;
  StackArena stacks_;
  // Where the thread that started the scheduler may run; empty if unknown.
  cpu_set_t allowed_cpus_;
  std::atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<Worker>> workers_;
  Bindings bindings_;
  Stealing stealing_;
  TaskQueues tasks_;
  CarrierPool carriers_;
  UltList ults_;
  std::atomic<uint64_t> next_number_{0};

  // Ults that are spawned while the scheduler is held wait in the
  // inbox of the pen, a worker that no carrier runs.
  Worker pen_;
  Mutex hold_lock_;
  bool held_ MPC_GUARDED_BY(hold_lock_) = false;
  size_t penned_ MPC_GUARDED_BY(hold_lock_) = 0;

  Poller poller_;
  Quiescence quiescence_;
  Monitor monitor_;
};

}  // namespace mpc::sched
