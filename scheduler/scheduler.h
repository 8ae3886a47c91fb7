#pragma once
// Scheduler: workers bound to cores, and the user-level threads that they run.
//
// Role:      starts one worker (kernel thread) per chosen core, spawns user-level threads on
//            them, notices when everything waits.
// Users:     runtime/job (one Scheduler per process); unit tests make several in a row.
// Threads:   start() and the destructor by one kernel thread that is no worker; the rest any.
// See also:  scheduler/execution.h; docs/scheduler.md.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/execution.h"
#include "scheduler/task/queues.h"
#include "topology/machine.h"

namespace mpc::sched {

class Poller;

struct SchedulerConfig {
  const topo::Machine* machine = nullptr;  // outlives the scheduler
  std::vector<int> cores;         // logical core of each worker; empty: all allowed
  bool bind = true;               // bind each worker to its core
  size_t stack_bytes = 8u << 20;  // virtual size of each Ult's stack, without guard
  // Called first on every kernel thread that runs Ults (workers and spares): signal stacks.
  void (*on_kernel_thread)() = nullptr;
  bool steal = false;  // idle workers may take runnable Ults of others
  // The same for a part of the workers. Those below steal_below (application cores) take from each
  // other; 0: none. Those from steal_from on (communication cores) take from each other at once,
  // without waiting whether the owner runs the Ult soon; -1: none.
  int steal_below = 0;
  int steal_from = -1;
};

struct UltSpec {
  std::function<void()> entry;  // runs on the Ult; must not throw; may return
  int worker = 0;               // where it starts
  void* identity = nullptr;     // see Execution::identity
  bool may_move =
      true;  // an idle worker may take it (SchedulerConfig::steal, steal_below)
  const char* name = "";  // copied
};

// Called when nothing will ever happen again: no execution runs, and each waits for a reason that
// cannot end by itself. At most once per such state, on a kernel thread of ours.
// Not called while there is a source of events that reaches other processes: see Quiet.
using QuiescenceHandler = std::function<void()>;

// Is nothing going on in this process, and would nothing ever happen here if nothing came from outside?
// Two answers with the same epoch: nothing has happened between them either.
struct Quiet {
  bool is_quiet = false;
  uint64_t epoch = 0;
};

class Scheduler {
 public:
  // Errors: kNoMem, kSystem (which limit stopped it and how to raise it).
  static Result<std::unique_ptr<Scheduler>> start(const SchedulerConfig& config);
  // Would `count` Ults exceed a known limit of the system (threads, processes)? Cheap; before
  // a large job is begun. Errors: kNoMem with the limit and the remedy.
  static Result<> check_limits(int count);
  // Waits for all Ults to finish. Who unparks executions from outside has to be gone.
  virtual ~Scheduler() = default;

  // The Ult starts running at once or when release() is called if the scheduler is held.
  // Errors: kNoMem with the limit that was hit (maps, threads, memory) and the remedy.
  // Caller: any kernel thread or Ult. Ownership: the Execution lives as long as the
  // scheduler: somebody who is no execution, as a network's thread, may unpark it late.
  virtual Result<Execution*> spawn(UltSpec spec) = 0;

  // Between hold() and release() spawned Ults are queued but none starts.
  virtual void hold() = 0;
  virtual void release() = 0;

  // Blocks the calling kernel thread until every Ult has ended.
  virtual void wait_all() = 0;

  virtual int worker_count() const = 0;
  virtual int core_of_worker(int worker) const = 0;
  virtual void set_quiescence_handler(QuiescenceHandler handler) = 0;

  // Calls `visit` for every live Ult and attached kernel thread, each held in its present
  // state (a parked one stays parked) during the call. Caller: a kernel thread of ours.
  virtual void for_each_execution(
      const std::function<void(const Execution&)>& visit) = 0;

  // Small pieces of work for any core that has time. The destructor runs what is still queued, and
  // drops tasks that want to be run again.
  virtual TaskQueues& tasks() = 0;

  // Sources of events outside of the job's memory: who looks at them, and when (poll/poller.h).
  virtual Poller& poller() = 0;
  // What of a deadlock over several processes can be seen in this one: all of its ranks wait for each
  // other or for other processes. What has arrived, and nobody has polled, is not seen.
  // Caller: any kernel thread, not from poll(). Switches: no. Cost: looks at each Ult.
  virtual Quiet quiet() = 0;

  // Called at each tick of the monitor (10 ms while ranks run), on its thread. Short. Null: none.
  using TickHook = void (*)() noexcept;
  virtual void set_tick_hook(TickHook hook) = 0;

  // How often a worker was taken from a blocked kernel thread.
  virtual uint64_t handover_count() const = 0;

  // Kernel threads attached with an identity count as running for deadlock detection unless
  // they are in park(). See Execution.
};

}  // namespace mpc::sched
