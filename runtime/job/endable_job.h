#pragma once
// EndableJob: a job that can be ended from outside its ranks.
//
// Role:      the part of a job that crash reports and the signal thread need to end it.
// Users:     runtime/job (crash, signals, node_job).
// Threads:   see each function.
// See also:  runtime/job/ending.h; docs/mpcrun.md (the end of a job).

#include <string>

#include "runtime/job/ending.h"
#include "runtime/job/job.h"

namespace mpc::job {

class EndableJob : public Job {
 public:
  // abort() in two steps: the second may wait for others, and needs a thread that holds no lock.
  // Caller: the SignalThread.
  virtual bool request_end(int exit_code, const std::string& message,
                           Grace grace) noexcept = 0;
  [[noreturn]] virtual void finish() = 0;
  // For reports that write their text and end the process themselves. False: another thread does so
  // already. Caller: any, also signal handlers.
  virtual bool claim_end() noexcept = 0;
  // Is the calling thread the one that ends the process?
  virtual bool ends_here() const noexcept = 0;
  // Before everything is flushed: the other ranks have job.grace_ms.
  // Caller: the thread that ends the process.
  virtual void let_others_go_on() = 0;
  // Output that follows a report: counters, the profile, the file of --trace.
  virtual void last_words() noexcept = 0;
};

}  // namespace mpc::job
