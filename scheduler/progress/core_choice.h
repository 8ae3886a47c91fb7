#pragma once
// CoreChoice: which core does a rank's background work.
//
// Role:      knows all cores of a scheduler, orders them by distance, and applies the policy. It weighs
//            the price of waking a core against the work that the caller could do itself meanwhile.
// Users:     scheduler/progress.
// Threads:   any, after the constructor.
// See also:  docs/scheduler.md section "Progress threads"; Denis et al. 2018, section 5.

#include <algorithm>
#include <memory>
#include <vector>

#include "base/moving_average.h"
#include "scheduler/progress/core.h"
#include "scheduler/progress/progress.h"
#include "topology/machine.h"

namespace mpc::sched {

class CoreChoice {
 public:
  // Ownership: workers and bindings outlive it.
  CoreChoice(const std::vector<std::unique_ptr<Worker>>& workers,
             const Bindings& bindings, const topo::Machine& machine,
             const ProgressCores::Config& config);
  CoreChoice(const CoreChoice&) = delete;

  ProgressPolicy policy() const noexcept { return config_.policy; }
  int core_count() const noexcept { return static_cast<int>(cores_.size()); }
  int application_workers() const noexcept { return config_.application_workers; }
  ProgressCore& core(int worker) noexcept {
    return cores_[static_cast<size_t>(worker)];
  }

  // The core for an item of rank `rank`, whose home is worker `home` and whose progress thread is on
  // `present` now (null: no thread yet). Null: no core is available for it.
  ProgressCore* choose(int rank, int home, ProgressCore* present,
                       int64_t bytes) noexcept;
  // The communication core on which such a rank's work is counted; null: there is none.
  ProgressCore* usual_core(int home, ProgressCore* present) noexcept {
    if (present != nullptr && present->is_dedicated()) return present;
    const std::vector<int>& near = near_[static_cast<size_t>(home)];
    return near.empty() ? nullptr : &core(near.front());
  }
  // Is a ready progress thread waiting for a communication core that does other work?
  bool has_backlog() const noexcept {
    return std::any_of(cores_.begin() + config_.application_workers, cores_.end(),
                       [](const ProgressCore& core) { return core.has_backlog(); });
  }
  // Records how long it took to wake a sleeping core.
  void note_wake_cost(uint64_t ns) noexcept;

 private:
  void order_by_distance(const topo::Machine& machine);
  ProgressCore* closest(int home, ProgressCore* present, int64_t bytes) noexcept;
  bool is_worth_waking(const ProgressCore& core, int64_t bytes) const noexcept;

  static constexpr uint64_t kFirstWakeCostNs = 2'000;

  const ProgressCores::Config config_;
  std::vector<ProgressCore> cores_;               // by worker
  MovingAverage wake_cost_ns_{kFirstWakeCostNs};  // paid by the thread that wakes
  // Indexed by home, each with the closest first: communication cores, application cores.
  std::vector<std::vector<int>> near_;
  std::vector<std::vector<int>> near_application_;
  // Indexed by home: communication cores of its NUMA node; if it has none, all communication cores;
  // if there are none at all, all cores.
  std::vector<std::vector<int>> numa_;
};

}  // namespace mpc::sched
