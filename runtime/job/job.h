#pragma once
// Job: the ranks of this process, their start, their end, and what the user is told.
//
// Role:      stores the table of ranks, and which other ranks live in other processes;
//            starts its ranks on the scheduler; collects exit statuses; turns aborts,
//            crashes and deadlocks into one report and one
// exit status.
// Users:     runtime/message (rank table), mpi (init, abort), runtime/interpose.
// Threads:   rank() and find() any; the others as said.
// See also:  docs/mpcrun.md for exit statuses, runtime/job/launch.h.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/job/hook_order.h"
#include "runtime/job/process_map.h"
#include "runtime/job/rank.h"
#include "scheduler/scheduler.h"

namespace mpc::wireup {
class Wireup;
}

namespace mpc::job {

struct AppSpec;

// The ranks that were started together: those of one MPI_COMM_WORLD.
struct World {
  int first = 0;  // its ranks have consecutive numbers in the job
  int size = 1;
  int first_app = 0;  // Rank::app_index of its first program
  int parent = -1;    // the rank that has spawned them; -1: the user has started them
};

class Job {
 public:
  // The job of this process. A program run without mpcrun gets a job of one rank, whose
  // execution is the calling kernel thread, at the first call (from MPI_Init).
  static Job& instance();
  // The same, but null while there is no job. Caller: any.
  static Job* existing() noexcept;

  virtual ~Job() = default;
  virtual int size() const noexcept = 0;  // of all processes, without spawned ranks
  // The ranks of this process: all of the job, unless it has several
  // processes. Spawned ones come after the others.
  RankRange local_ranks() const noexcept {
    // Acquire: they can be found by number.
    return {local_.first, local_.end + spawned_.load(std::memory_order_acquire)};
  }
  // Caller: it is one of local_ranks().
  virtual Rank& rank(int world_rank) noexcept = 0;
  // Null: the rank lives in another process, or does not exist.
  Rank* find(int world_rank) noexcept {
    return local_ranks().contains(world_rank) ? &rank(world_rank) : nullptr;
  }
  // Caller: the rank is one of the job.
  virtual World world_of(int) const noexcept { return {0, size(), 0, -1}; }
  // Starts ranks of these programs in this process; they find each other in a World of their own.
  // When it returns they may not have begun. Either all of them start, or none.
  // Caller: a kernel thread that acts for no rank. Errors: kUnsupported (not in such a job),
  // those of a program that cannot be started, kNoMem.
  virtual Result<World> spawn(const std::vector<AppSpec>& apps, int parent);
  // The number of ranks for which the job has cores (MPI_UNIVERSE_SIZE); 0: there is no limit.
  virtual int universe_size() const noexcept { return size(); }
  virtual bool is_singleton() const noexcept = 0;
  virtual const std::string& program(int app_index) const = 0;
  virtual uint64_t start_ns() const noexcept = 0;  // one origin of time for all ranks
  // Which ranks share memory. Complete before the first rank starts.
  const ProcessMap& processes() const noexcept { return processes_; }
  // True: other real processes have ranks; false if all processes are virtual ones of this process.
  bool has_other_processes() const noexcept { return local_.size() != size(); }
  // The service by which processes find each other. Null for a singleton.
  virtual wireup::Wireup* wireup() noexcept { return nullptr; }
  // Null for a singleton.
  virtual sched::Scheduler* scheduler() noexcept = 0;
  // The machine whose cores the workers use. Null for a singleton.
  virtual const topo::Machine* machine() const noexcept = 0;
  // Number of workers that have ranks, and of workers that only do communication.
  virtual int application_workers() const noexcept = 0;
  virtual int communication_workers() const noexcept = 0;
  // The worker that a rank of this process was placed on at its start.
  virtual int worker_of(int world_rank) const noexcept = 0;
  // The same, numbered among the workers of all processes: for ranks of any process.
  virtual int place_of(int world_rank) const noexcept { return worker_of(world_rank); }
  // The same, and equal for ranks whose processes share a core because they outnumber the cores of
  // their host: the place by which collectives arrange their trees.
  virtual int tree_place_of(int world_rank) const noexcept {
    return place_of(world_rank);
  }

  // Ends the whole job: if a rank calls, lets the other ranks continue for a moment;
  // flushes the ranks' streams, prints `message` (one report; a later call by another thread
  // waits for the end), exits with the status. Caller: any. Does not return.
  [[noreturn]] virtual void abort(int exit_code, const std::string& message) = 0;
  // The job continues, but ends with this status, unless another one was noted before, and prints
  // the message. Caller: any thread of a rank.
  virtual void note_failure(int exit_code, const std::string& message) = 0;
  // The same, but the job ends with this status only if it would end with 0. Caller: as above.
  virtual void note_refusal(int exit_code, const std::string& message) = 0;
  // The job is about to end before its ranks have ended; they may write a little more.
  virtual bool is_ending() const noexcept { return false; }
  // Waits for that end. Caller: any. Switches: yes.
  [[noreturn]] virtual void wait_for_end() noexcept;
  // Ends the calling rank with a status (exit()); the job goes on. Exit handlers have run.
  // Caller: the rank's main execution.
  [[noreturn]] virtual void end_rank(int status) = 0;

  // Hooks of upper layers, registered by a constructor function of the library, each once; called
  // in the order of HookOrder on the rank's own execution before main, and in reverse order after
  // its exit handlers.
  using RankHook = void (*)(Rank&);
  static void at_rank_start(HookOrder who, RankHook hook);
  static void at_rank_end(HookOrder who, RankHook hook);
  // Called instead when the rank ends the job, on its own execution: abort() may have been
  // called from anywhere, so the hook must wait for no lock.
  static void at_rank_failure(HookOrder who, RankHook hook);
  // Called once on the thread that runs the job, only in a job of several processes: they know
  // each other's numbers, no program is loaded, and values put now (Wireup::put) are available to
  // all at the job's start. An error ends the job.
  static void at_wireup(HookOrder who, Result<> (*hook)(Job&));
  // Called once on the thread that runs the job, when everything is known about its ranks and
  // before any of them starts; not for a singleton. An error ends the job.
  static void at_job_start(HookOrder who, Result<> (*hook)(Job&));
  // Called once on the thread that runs the job, when all ranks of this process have ended and no
  // other process needs it any more; not if the job ends early.
  static void at_job_over(HookOrder who, void (*hook)(Job&));
  // Called at the job's end, on any thread, when ranks may still be running: best effort.
  static void at_job_end(HookOrder who, void (*hook)(Job&));

 protected:
  // This value is for a singleton; other jobs set it.
  ProcessMap processes_{1};
  RankRange local_{0, 1};        // those that the user has started
  std::atomic<int> spawned_{0};  // release: see local_ranks()
};

}  // namespace mpc::job
