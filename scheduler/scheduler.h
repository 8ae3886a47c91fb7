#pragma once
// Scheduler: workers bound to cores, and the user-level threads that they run.
//
// Role:      starts one worker (kernel thread) per chosen core, spawns user-level threads on
//            them, notices when all of them wait.
// Users:     runtime/job (one Scheduler per process); unit tests create several in a row.
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
  // Every kernel thread that runs Ults (workers and spares) calls it first: signal stacks.
  void (*on_kernel_thread)() = nullptr;
  bool steal = false;  // idle workers may take runnable Ults of others
  // Stealing for a part of the workers. Workers below steal_below (application cores) take from
  // each other; 0: none. Workers from steal_from on (communication cores) take from each other at
  // once, without waiting whether the owner runs the Ult soon; -1: none.
  int steal_below = 0;
  int steal_from = -1;
  // How many processes of the job share each core, at most: see Poller::share_core().
  int processes_per_core = 1;
};

struct UltSpec {
  std::function<void()> entry;  // runs on the Ult; must not throw; may return
  int worker = 0;               // where it starts
  void* identity = nullptr;     // see Execution::identity
  bool may_move =
      true;  // an idle worker may take it (SchedulerConfig::steal, steal_below)
  const char* name = "";  // copied
};

// Called when nothing can ever happen again: no execution runs, and each waits for a reason that
// cannot end by itself. Called at most once per such state, on a kernel thread of ours.
// Not called while a source of events reaches other processes: see Quiet.
using QuiescenceHandler = std::function<void()>;

// Is this process idle, and would nothing ever happen here unless something came from outside?
// Two answers with the same epoch mean that nothing has happened between them either.
struct Quiet {
  bool is_quiet = false;
  uint64_t epoch = 0;
};

// Processors that the calling thread may run on.
int allowed_core_count() noexcept;

class Scheduler {
 public:
  // Errors: kNoMem, kSystem (which limit stopped it and how to raise it).
  static Result<std::unique_ptr<Scheduler>> start(const SchedulerConfig& config);
  // Would `count` Ults exceed a known limit of the system (threads, processes)? A cheap check
  // before a large job starts. Errors: kNoMem with the limit and the remedy.
  static Result<> check_limits(int count);
  // Waits for all Ults to finish. Threads that unpark executions
  // from outside must have ended before.
  virtual ~Scheduler() = default;

  // Creates an Ult, which starts at once or, if the scheduler is held, when release() is called.
  // Errors: kNoMem with the limit that was hit (maps, threads, memory) and the remedy.
  // Caller: any kernel thread or Ult. Ownership: the Execution lives as long as the scheduler:
  // a thread that is no execution, such as a network's, may unpark it late.
  virtual Result<Execution*> spawn(UltSpec spec) = 0;

  // Between hold() and release() spawned Ults are queued but none starts.
  virtual void hold() = 0;
  virtual void release() = 0;

  // Blocks the calling kernel thread until every Ult has ended.
  virtual void wait_all() = 0;

  virtual int worker_count() const = 0;
  virtual int core_of_worker(int worker) const = 0;
  // A hint: a worker other than the caller's has nothing to do. Caller: any. Cost: a load for each worker.
  virtual bool has_idle_core() const noexcept = 0;
  virtual void set_quiescence_handler(QuiescenceHandler handler) = 0;

  // Calls `visit` for every live Ult and attached kernel thread, each held in its present
  // state (a parked one stays parked) during the call. Caller: a kernel thread of ours.
  virtual void for_each_execution(
      const std::function<void(const Execution&)>& visit) = 0;

  // Small pieces of work for any core that has time. The destructor runs the tasks that are still
  // queued, and drops tasks that want to run again.
  virtual TaskQueues& tasks() = 0;

  // Sources of events outside the job's memory: which threads poll them, and when (poll/poller.h).
  virtual Poller& poller() = 0;
  // The part of a deadlock over several processes that this one can see:
  // all of its ranks wait for each other or for other processes. Messages
  // that have arrived but have not been polled are not seen.
  // Caller: any kernel thread, not from poll(). Switches: no. Cost: visits each Ult.
  virtual Quiet quiet() = 0;

  // The monitor calls it at each tick (10 ms while ranks run),
  // on its thread. Must be short. Null: none.
  using TickHook = void (*)() noexcept;
  virtual void set_tick_hook(TickHook hook) = 0;

  // How often a worker was taken from a blocked kernel thread.
  virtual uint64_t handover_count() const = 0;

  // Kernel threads attached with an identity count as running for deadlock detection unless
  // they are in park(). See Execution.
};

}  // namespace mpc::sched
