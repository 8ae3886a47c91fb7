#pragma once
// Head: the launcher of a job of several processes, once they run.
//
// Role:      hears what they report, hands the user's signals to them, ends all of them when one has
//            failed, and says one report.
// Users:     tools/mpclaunch/main.cpp.
// Threads:   one.
// See also:  runtime/wireup/record.h, docs/cluster.md.

#include <signal.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/wireup/verdict.h"
#include "tools/mpclaunch/child.h"

namespace mpc::launch {

class Head {
 public:
  // `signals`: blocked by the caller, and of them those that are not ignored are taken here.
  Head(double timeout_seconds, const sigset_t& signals);
  ~Head();
  Head(const Head&) = delete;

  // Where processes are added, each before it is started. Ownership: ours.
  std::vector<Child>& children() noexcept { return children_; }
  // The job cannot start.
  void give_up(const std::string& message);
  // Until all processes have ended. Returns the job's status.
  int run();

 private:
  // What the table of all ranks is for.
  enum class Asking { kNothing, kQuestion, kTimeout };

  void look(int timeout_ms);
  int ms_to_next_deadline() const;
  void keep_deadlines();
  void take_signals();
  void take_signal(int signal);
  void take_records(Child& child);
  void take_record(Child& child, const wireup::RecordHead& head, std::string text);
  void reap();
  void judge(Child& child, int wait_status);
  void end_all(wireup::Order order);
  void kill_all(bool also_reporter);
  void ask_tables(Asking why);
  bool ask_next();
  void use_tables();
  bool has_running() const;

  std::vector<Child> children_;
  wireup::Verdict verdict_;
  int signals_ = -1;  // signalfd
  double timeout_seconds_;
  bool is_interrupted_ = false;
  Asking asking_ = Asking::kNothing;
  size_t asked_ = 0;    // so many processes, for a table
  std::string broken_;  // what Report::kBroken said
  // Times of CLOCK_MONOTONIC in ns; 0: none.
  uint64_t timeout_ns_ = 0, tables_ns_ = 0, broken_ns_ = 0, kill_ns_ = 0,
           kill_reporter_ns_ = 0;
};

}  // namespace mpc::launch
