#pragma once
// Head: the launcher of a job of several processes.
//
// Role:      starts the processes of its own host, and those of others through the daemons there;
//            receives their reports, passes the user's signals to them, ends all of them when one
//            has failed, and prints one report.
// Users:     tools/mpclaunch/main.cpp.
// Threads:   one; the output of other hosts is written by another one, PMIx has one of its own.
// See also:  runtime/wireup/record.h, docs/cluster.md.

#include <signal.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "runtime/wireup/table_question.h"
#include "runtime/wireup/verdict.h"
#include "tools/mpclaunch/children.h"
#include "tools/mpclaunch/exchange.h"
#include "tools/mpclaunch/hosts.h"
#include "tools/mpclaunch/input.h"
#include "tools/mpclaunch/loop.h"
#include "tools/mpclaunch/output.h"
#include "tools/mpclaunch/process.h"

namespace mpc::launch {

// The data that mpcrun gives to its launcher.
struct Launch {
  Plan plan;
  std::string program;                 // mpcrun
  std::vector<std::string> arguments;  // its command line
  std::string agent;                   // empty: ssh
  std::vector<std::string> exports;    // names of -x
  double timeout_seconds = 0;          // 0: none
  bool goes_on = false;                // --on-fail notify
};

class Head {
 public:
  // `signals`: blocked by the caller; those of them that are not ignored are handled here.
  // `before`: the previous mask, for the processes.
  Head(Launch launch, const sigset_t& signals, const sigset_t& before);
  ~Head();
  Head(const Head&) = delete;

  // Starts all processes, and waits until they have ended. Returns the job's status.
  int run();

 private:
  // head.cpp
  void turn();
  int ms_to_next_deadline() const;
  void keep_deadlines();
  void take_signals();
  void take_signal(int signal);
  void give_to_all(int signal);
  void take_record(int process, const wireup::RecordHead& head, std::string text);
  void look_for_missing();
  void judge(int process, int wait_status);
  void end_all(wireup::Order order, int signal = 0);
  void order(const Process& process, wireup::Order order, int status = 0);
  void kill_all(bool also_reporter);
  void kill(const Process& process);
  Deadline first_kill_ns() const;
  void ask_table(wireup::TableQuestion::Why why);
  void take_table(wireup::TableQuestion::Why why, const std::string& table);
  bool has_running() const;

  // head_losses.cpp
  bool survives_losses() const;
  bool take_death(Process& process, int status, std::string text);
  bool take_crash(Process& process);
  void lose(Process& process, int wait_status, const std::string& how);
  void lose(const std::vector<Process*>& of_host, const std::string& problem);
  void announce(const Process& lost);
  void take_broken(int peer, std::string text);
  void arrive(Process& process, int gate);
  void open_gates();

  // head_hosts.cpp
  Result<> start_all();
  Result<> connect_hosts();
  Result<> start_here(const std::string& job);
  void start_elsewhere(const std::string& job);
  std::vector<std::string> environment_for_others() const;
  void take_frame(int host, Frame kind, std::string_view payload);
  void end_at(int host);
  void lose_host(int host, const std::string& problem);
  void lose_output(int fd, int error);
  void lose_reader();
  void abandon_others();

  const Launch launch_;
  const Plan& plan_;
  const int here_;  // our host in the plan; -1: it has no processes
  const sigset_t before_;
  Loop loop_;
  wireup::Verdict verdict_;
  std::vector<Process> processes_;
  wireup::TableQuestion table_;
  Children children_;
  Hosts hosts_;
  Exchange exchange_;
  Output output_;
  Input input_;
  int signals_ = -1;  // signalfd
  int console_memory_ = -1;
  bool is_started_ = false;  // all hosts have connected
  bool is_interrupted_ = false;
  bool has_reader_ = true;   // the job's output has a reader
  unsigned open_gates_ = 0;  // bit: all surviving processes have passed it
  std::string broken_;       // what Report::kBroken said
  int broken_peer_ = -1;     // about which process; -1: not known
  Deadline timeout_ns_ = 0, broken_ns_ = 0, kill_ns_ = 0, kill_reporter_ns_ = 0,
           abandon_ns_ = 0;
};

}  // namespace mpc::launch
