#pragma once
// Steward: process 0 does for a job's end what our launcher
// would do, if another launcher started us.
//
// Role:      receives the reports of all processes, tells all to end when one fails, prints one
//            report, and lets no process exit before all have written what they had to write:
//            another launcher ends all as soon as one has ended with a failure.
// Users:     runtime/wireup/guest.cpp.
// Threads:   one of its own.
// See also:  tools/mpclaunch/head.h, which does it for the processes that mpcrun -p starts;
//            docs/design/0024-guests.md.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/wireup/gathering.h"
#include "runtime/wireup/record.h"
#include "runtime/wireup/table_question.h"
#include "runtime/wireup/verdict.h"
#include "runtime/wireup/wireup.h"

namespace mpc::wireup {

class Steward {
 public:
  // Asks the other launcher to kill all processes.
  using Kill = std::function<void(int status)>;

  // members: indexed by process.
  Steward(std::vector<Member> members, const Wireup::Terms& terms, Kill kill);
  // Never stopped: it lives as long as the process. Errors: kSystem.
  Result<> start();
  // Runs on a thread that start() creates: returns when all may exit.
  void run();

 private:
  struct Process {
    Member member;
    std::string inbox;  // what has arrived of a record
    bool is_there = true;
    bool has_finished = false;  // its ranks have ended by themselves
    bool has_written = false;   // it waits for Order::kLeave
  };

  void look(int timeout_ms);
  void read_from(size_t index);
  void lose(size_t index);
  void take(size_t index, Report kind, int status, std::string text);
  void end_all(Order order);
  void order(const Process& process, Order order, int status) const noexcept;
  void ask_table(TableQuestion::Why why);
  void take_table(TableQuestion::Why why, const std::string& table);
  int ms_to_next_deadline() const;
  void keep_deadlines();
  bool may_all_leave() const;
  void dismiss();
  std::string name_of(size_t index) const;

  std::vector<Process> processes_;
  const Wireup::Terms terms_;
  const Kill kill_;
  Verdict verdict_;
  TableQuestion table_;
  std::string broken_;  // the text of Report::kBroken
  bool is_over_ = false;
  Deadline timeout_ns_ = 0, broken_ns_ = 0, kill_ns_ = 0;
  uint64_t next_table_ns_ = 0;  // until then a question counts as the last one again
};

}  // namespace mpc::wireup
