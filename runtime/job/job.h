#pragma once
// Job: all ranks of this process, their start, their end, and what the user is told.
//
// Role:      the table of ranks; starts them on the scheduler; collects exit statuses; turns
//            aborts, crashes and deadlocks into one report and one exit status.
// Users:     tools/mpcrun (launch), runtime/message (rank table), mpi (init, abort).
// Threads:   rank() any; the rest as said.
// See also:  docs/mpcrun.md for exit statuses.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/job/rank.h"
#include "scheduler/scheduler.h"

namespace mpc::job {

class Job {
 public:
  // The job of this process. A program run without mpcrun gets a job of one rank, whose
  // execution is the calling kernel thread, at the first call (from MPI_Init).
  static Job& instance();

  virtual ~Job() = default;
  virtual int size() const = 0;
  virtual Rank& rank(int world_rank) = 0;
  virtual bool is_singleton() const = 0;
  virtual const std::string& program(int app_index) const = 0;
  virtual uint64_t start_ns() const = 0;  // MPI_Wtime's origin, the same for all ranks
  // Null for a singleton.
  virtual sched::Scheduler* scheduler() = 0;

  // Ends the whole job: report line "rank R called MPI_Abort(comm, code)", exit status.
  // Caller: any. Does not return.
  [[noreturn]] virtual void abort(int exit_code, const std::string& message) = 0;
  // Ends the calling rank with a status (exit()); the job goes on. Caller: the rank itself.
  [[noreturn]] virtual void end_rank(int status) = 0;

  // Hooks of upper layers, registered at start-up of the library, called in order on the
  // rank's own execution: before main, and after exit handlers (reverse order).
  using RankHook = void (*)(Rank&);
  static void at_rank_start(RankHook hook);
  static void at_rank_end(RankHook hook);
};

}  // namespace mpc::job
