#pragma once
// Verdict: why a job of several processes ends, with which status, and what is printed about it.
//
// Role:      the first reason that processes report counts, once.
// Users:     tools/mpclaunch/head.cpp, runtime/wireup/steward.cpp.
// Threads:   one.
// See also:  runtime/job/ending.h, which does the same within a process.

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace mpc::wireup {

class Verdict {
 public:
  // How long processes that are told to end may run: longer than job.grace_ms gives ranks at most.
  // A crash's report looks up lines of source.
  static constexpr uint64_t kPatienceNs = 2500 * kMs,
                            kPatienceWithReportNs = 15'000 * kMs;
  // How long to wait for the end of a process that explains a broken network.
  static constexpr uint64_t kBrokenNs = 300 * kMs;

  // The job must end before its ranks have ended. True for the first reason.
  bool end(int status, std::string message);
  // The reason is the end of a process that prints it itself: end_of() tells the status.
  bool end_by_crash(int process);
  // A rank failed, and the job continues. The first one counts, before all others.
  void note_failure(int status, std::string message);
  // For a job that would end with 0.
  void note_refusal(int status, std::string message);
  // A process has ended; after a crash, the messages include what it says about that.
  void end_of(int process, int status);

  bool is_ending() const noexcept { return is_ending_; }
  int crashed_process() const noexcept { return crashed_; }
  int status() const noexcept;
  // One or more lines each.
  std::string messages() const;

 private:
  struct Note {
    bool is_there = false;
    int status = 0;
    std::string message;
    bool take(int its_status, std::string its_message);
  };
  bool is_ending_ = false;
  int crashed_ = -1;
  Note reason_, failure_, refusal_;
};

}  // namespace mpc::wireup
