#pragma once
// SchedulerImpl: the scheduler's parts and what they ask of each other.
//
// Role:      owns workers, carriers, stacks and user-level threads.
// Users:     scheduler only.
// Threads:   see each function.
// See also:  scheduler/scheduler.h.

#include <sched.h>
#include <signal.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "scheduler/binding.h"
#include "scheduler/carrier.h"
#include "scheduler/monitor.h"
#include "scheduler/scheduler.h"
#include "scheduler/stacks.h"
#include "scheduler/task/queues.h"
#include "scheduler/theft.h"
#include "scheduler/ult.h"
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
  TaskQueues& tasks() noexcept override { return tasks_; }
  void set_tick_hook(TickHook hook) override { monitor_.set_tick_hook(hook); }
  uint64_t handover_count() const override { return monitor_.handover_count(); }
  void set_quiescence_handler(QuiescenceHandler handler) override;
  void for_each_execution(const std::function<void(const Execution&)>& visit) override;

  // ---- for carriers ----
  bool is_stopping() const noexcept {
    return stopping_.load(std::memory_order_seq_cst);
  }
  // The Ult's stack has been left for good. Caller: a carrier.
  void on_ended(Ult& ult) noexcept;
  // A ready Ult of another worker, if stealing is on.
  Ult* steal_for(Worker& thief) noexcept;
  // Some worker computes while others of its Ults are ready: wakes a sleeping worker.
  void wake_thief(const Worker& victim) noexcept;
  // Workers of the same group take from each other. kPatient: what waits for long, see Theft;
  // kEager: what is ready, at once (the run queue is locked for that).
  enum StealGroup : int8_t { kNobody, kPatient, kEager };
  StealGroup steal_group(int worker) const noexcept {
    if (config_.steal || worker < config_.steal_below) return kPatient;
    return config_.steal_from >= 0 && worker >= config_.steal_from ? kEager : kNobody;
  }
  // Null: it takes nothing from others, or not in this way.
  Theft* theft_of(const Worker& worker) noexcept {
    if (bindings_.is_wide(worker.index()))
      return nullptr;  // or it would look without an end
    return thefts_[static_cast<size_t>(worker.index())].get();
  }
  void add_spare(Carrier& carrier) noexcept;
  // A carrier without a worker, created if there is none; null if that fails.
  Carrier* take_spare() noexcept;
  Monitor& monitor() noexcept { return monitor_; }

  // ---- for the monitor ----
  std::vector<std::unique_ptr<Worker>>& workers() noexcept { return workers_; }
  // True if everything waits for something that cannot come by itself. Two calls that say so
  // with the same `activity` prove it: nothing has moved in between.
  bool is_quiescent(uint64_t& activity) noexcept;
  void call_quiescence_handler() noexcept;

  void greet_kernel_thread() const {
    if (config_.on_kernel_thread != nullptr) config_.on_kernel_thread();
  }
  const sigset_t& signal_mask() const noexcept { return signal_mask_; }
  // Where the thread that started the scheduler may run; empty if that is unknown.
  const cpu_set_t& allowed_cpus() const noexcept { return allowed_cpus_; }
  Bindings& bindings() noexcept { return bindings_; }

 private:
  void add_bindings();
  int node_of(const Worker& worker) const;
  std::unique_ptr<Theft> make_theft(const Worker& thief) const;
  Ult* steal_at_once(Worker& thief) noexcept;
  void list(Ult& ult);
  void unlist(Ult& ult);

  const SchedulerConfig config_;
  bool has_several_nodes_ = false;
  StackArena stacks_;
  cpu_set_t allowed_cpus_;
  sigset_t signal_mask_;  // of the thread that started the scheduler, for all carriers
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Theft>>
      thefts_;  // per worker; null: it does not steal patiently
  Bindings bindings_;
  TaskQueues tasks_;
  std::atomic<bool> stopping_{false};

  std::mutex carriers_lock_;
  std::vector<std::unique_ptr<Carrier>> carriers_;  // guarded by carriers_lock_
  Carrier* spares_ = nullptr;                       // guarded by carriers_lock_

  std::mutex ults_lock_;
  std::vector<Ult*> ults_;  // guarded by ults_lock_; until wait_all()
  std::atomic<uint64_t> next_number_{0};
  FutexWord live_{0};  // Ults that have not ended

  // Ults spawned while held wait in the pen's inbox; it is a worker that nobody runs.
  Worker pen_;
  std::mutex hold_lock_;
  bool held_ = false;  // guarded by hold_lock_
  size_t penned_ = 0;  // guarded by hold_lock_

  std::mutex handler_lock_;
  QuiescenceHandler handler_;  // guarded by handler_lock_
  Monitor monitor_{*this};
};

}  // namespace mpc::sched
