#pragma once
// TableQuestion: asks the processes of a job what each rank does, one by one until one answers.
//
// Role:      one process reports the table of all, because it asks the others itself: the next one
//            is asked if that one has ended, is late, or has nothing to report.
// Users:     runtime/wireup/steward.h, tools/mpclaunch/head.h.
// Threads:   one.
// See also:  docs/design/0025-deadlock-of-processes.md; runtime/job/state_table.h, which makes the table.

#include <cstddef>
#include <functional>
#include <string>

#include "base/clock.h"

namespace mpc::wireup {

class TableQuestion {
 public:
  enum class Why { kNothing, kUser, kTimeout };
  // Sends Order::kAskTable to a process; false: it does not run any more.
  using Ask = std::function<bool(size_t process)>;
  // The table, or the line that no process answers. Called once for each begin(), but a begin()
  // that comes while a question is under way is merged with it, for the graver reason.
  using Answer = std::function<void(Why why, const std::string& table)>;

  TableQuestion(size_t processes, Ask ask, Answer answer);

  void begin(Why why);
  // A process has answered; a late answer counts as well.
  void take(size_t process, const std::string& table);
  // A process has ended.
  void lose(size_t process);

  Deadline deadline_ns() const noexcept { return deadline_ns_; }
  void keep_deadline(uint64_t now);

 private:
  void ask_next();
  void end(const std::string& table);

  const size_t processes_;
  const Ask ask_;
  const Answer answer_;
  Why why_ = Why::kNothing;
  size_t asked_ = 0;  // the process that owes an answer
  size_t next_ = 0;
  Deadline deadline_ns_ = 0;
};

}  // namespace mpc::wireup
