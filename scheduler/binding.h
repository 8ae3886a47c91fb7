#pragma once
// Bindings: the processing units on which each worker's kernel threads may run.
//
// Role:      a worker begins on its core. Once its rank has threads of its own, it runs on the
//            rank's share of the cores, as the main thread of a process would; if the rank sets
//            its affinity, it runs where that says.
// Users:     scheduler; runtime/job and runtime/interpose by bindings_of().
// Threads:   any (locked; the hints are atomic), but add() and share_out() before the others.
// See also:  docs/scheduler.md section "Threads of ranks"; sched_setaffinity(2).

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <deque>
#include <vector>

#include "base/mutex.h"
#include "base/thread_safety.h"
#include "topology/machine.h"

namespace mpc::sched {

// All processing units of some cores.
cpu_set_t cpus_of(const topo::Machine& machine, const std::vector<int>& cores);

class Scheduler;
class Bindings;
Bindings& bindings_of(Scheduler& scheduler) noexcept;

class Bindings {
 public:
  // Adds the next worker: it begins on `start`, which is also its share.
  void add(const cpu_set_t& start);
  // Sets the shares of the first workers, which have ranks (see share_cores()). A worker without
  // ranks lends its core to the ranks whose share contains it.
  // Caller: before ranks start. Shapes: one of `cores` for each worker.
  void share_out(const topo::Machine& machine, const std::vector<int>& cores,
                 const std::vector<std::vector<int>>& shares);

  cpu_set_t share_of(int worker) const { return places_[index(worker)].share; }
  // Do the ranks of this worker have more than one core?
  bool has_several_cores(int worker) const noexcept {
    return places_[index(worker)].share_cores > 1;
  }

  // The calling kernel thread holds the worker from now on. Cost: a system call.
  void follow(int worker) noexcept;
  // From now on the worker's kernel threads may run on its share,
  // or on `set`. Cost: a system call for each of them.
  void widen(int worker) noexcept { set(worker, places_[index(worker)].share); }
  void set(int worker, const cpu_set_t& set) noexcept;

  // The ranks of this worker have started (or, if negative, ended) this many kernel threads.
  void count_threads(int worker, int change) noexcept {
    places_[index(worker)].threads.fetch_add(change, std::memory_order_relaxed);
  }
  // A hint: threads of ranks occupy all cores of the share that contains this worker's core, so
  // the core is not spare. False for workers with ranks.
  bool is_taken(int worker) const noexcept {
    const WorkerCpus* borrower = places_[index(worker)].borrower;
    return borrower != nullptr &&
           borrower->threads.load(std::memory_order_relaxed) + 1 >=
               borrower->share_cores;
  }
  // A hint: the worker's ranks have their cores to themselves, so they are not moved to others.
  bool is_wide(int worker) const noexcept {
    return places_[index(worker)].is_wide.load(std::memory_order_relaxed);
  }

 private:
  struct WorkerCpus {
    cpu_set_t now;  // guarded by lock_ of the Bindings
    cpu_set_t share;
    int share_cores = 1;
    const WorkerCpus* borrower = nullptr;
    std::atomic<int> threads{0};
    std::atomic<bool> is_wide{false};
  };
  // A kernel thread, and the worker that it holds or held last: a rank whose worker was taken away
  // while the rank blocked still runs there.
  struct Follower {
    pid_t thread;
    int worker;
  };
  static size_t index(int worker) noexcept { return static_cast<size_t>(worker); }

  std::deque<WorkerCpus> places_;  // indexed by worker; elements never move
  Mutex lock_;
  std::vector<Follower> followers_ MPC_GUARDED_BY(lock_);
};

}  // namespace mpc::sched
