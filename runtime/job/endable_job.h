#pragma once
// EndableJob: a job that something else than its ranks may end.
//
// Role:      what crash reports and the thread for signals need of the job that they end.
// Users:     runtime/job (crash, signals, node_job).
// Threads:   as each function says.
// See also:  runtime/job/ending.h; docs/mpcrun.md (the end of a job).

#include <string>

#include "runtime/job/job.h"

namespace mpc::job {

class EndableJob : public Job {
 public:
  // abort() in two steps: the second may wait for others, and wants a thread that holds no lock.
  // Caller: the SignalThread.
  virtual bool request_end(int exit_code, const std::string& message) noexcept = 0;
  [[noreturn]] virtual void finish() = 0;
  // For reports that make their text and end the process themselves. False: somebody does so
  // already. Caller: any, signal handlers too.
  virtual bool claim_end() noexcept = 0;
  // Is the calling thread the one that ends the process?
  virtual bool ends_here() const noexcept = 0;
  // Before everything is flushed: the other ranks have job.grace_ms. Caller: who ends the process.
  virtual void let_others_go_on() = 0;
  // What comes behind a report: counters, the profile, the file of --trace.
  virtual void last_words() noexcept = 0;
};

}  // namespace mpc::job
