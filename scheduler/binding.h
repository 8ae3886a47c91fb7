#pragma once
// Bindings: the processing units on which each worker's kernel threads may run.
//
// Role:      a worker begins on its core. Once its rank has threads of its own it runs on the
//            rank's share of the cores, as the main thread of a process would; and where the rank
//            sets its affinity, there.
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
  // The next worker: it begins on `start`, which is also its share.
  void add(const cpu_set_t& start);
  // The cores of worker `worker` (`own`), of the ranks of the first workers and their threads
  // (share_cores()). Workers without ranks lend their core to the ranks whose share it is in.
  // Caller: before ranks start. Shapes: one core for each worker.
  void share_out(const topo::Machine& machine, const std::vector<int>& cores,
                 const std::vector<std::vector<int>>& shares);

  cpu_set_t share_of(int worker) const { return places_[index(worker)].share; }
  // Is there more than one core for the ranks of this worker?
  bool has_several_cores(int worker) const noexcept {
    return places_[index(worker)].share_cores > 1;
  }

  // The calling kernel thread holds the worker from now on. Cost: a system call.
  void follow(int worker) noexcept;
  // The worker's kernel threads may run on the share, on `set`. Cost: a system call for each.
  void widen(int worker) noexcept { set(worker, places_[index(worker)].share); }
  void set(int worker, const cpu_set_t& set) noexcept;

  // Ranks of this worker have started so many kernel threads more, or less.
  void count_threads(int worker, int change) noexcept {
    places_[index(worker)].threads.fetch_add(change, std::memory_order_relaxed);
  }
  // A hint: threads of ranks take all cores of the share to which this worker's core belongs, so
  // it is nobody's spare core. False for workers with ranks.
  bool is_taken(int worker) const noexcept {
    const Place* borrower = places_[index(worker)].borrower;
    return borrower != nullptr &&
           borrower->threads.load(std::memory_order_relaxed) + 1 >=
               borrower->share_cores;
  }
  // Its ranks have the cores to themselves, so they are not moved to others. A hint.
  bool is_wide(int worker) const noexcept {
    return places_[index(worker)].is_wide.load(std::memory_order_relaxed);
  }

 private:
  struct Place {
    cpu_set_t now;  // guarded by lock_ of the Bindings
    cpu_set_t share;
    int share_cores = 1;
    const Place* borrower = nullptr;
    std::atomic<int> threads{0};
    std::atomic<bool> is_wide{false};
  };
  // A kernel thread, and the worker that it has or had last: a rank whose worker was taken away
  // while it blocked still runs there.
  struct Follower {
    pid_t thread;
    int worker;
  };
  static size_t index(int worker) noexcept { return static_cast<size_t>(worker); }

  std::deque<Place> places_;  // by worker; none of them moves
  Mutex lock_;
  std::vector<Follower> followers_ MPC_GUARDED_BY(lock_);
};

}  // namespace mpc::sched
