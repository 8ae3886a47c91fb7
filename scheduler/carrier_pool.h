#pragma once
// CarrierPool: all kernel threads of a scheduler, and those of them that have no worker.
//
// Role:      creates carriers: one for each worker at the start; later a spare one, when a worker
//            is taken from a carrier that blocks and no spare exists.
// Users:     scheduler only.
// Threads:   any.
// See also:  scheduler/carrier.h, docs/scheduler.md section "Hand-over".

#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_safety.h"
#include "scheduler/carrier.h"

namespace mpc::sched {

class CarrierPool {
 public:
  explicit CarrierPool(const Carrier::Plan& plan) : plan_(plan) {}
  CarrierPool(const CarrierPool&) = delete;

  // Creates a carrier that runs this worker.
  Result<> start(Worker& worker);
  // The carrier has lost its worker, or did not get the worker that it was acquired for.
  void add_spare(Carrier& carrier) noexcept;
  // A carrier without a worker, created if none exists; null if that fails.
  Carrier* take_spare() noexcept;
  // Stops and joins all carriers. Caller: the scheduler's destructor,
  // which has set the stop flag before.
  void stop() noexcept;

 private:
  const Carrier::Plan plan_;
  Mutex lock_;
  std::vector<std::unique_ptr<Carrier>> carriers_ MPC_GUARDED_BY(lock_);
  Carrier* spares_ MPC_GUARDED_BY(lock_) = nullptr;  // linked by next_spare
};

}  // namespace mpc::sched
