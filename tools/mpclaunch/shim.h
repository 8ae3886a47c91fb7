#pragma once
// Shim: the process between the launcher and the command of a hosted rank.
//
// Role:      starts the user's command as it is, whatever that starts in turn; gives the rank's seat to the
//            first of these processes that calls MPI_Init, and passes on messages between it and
//            the launcher; passes on the command's output; ends all these processes with the job,
//            and reports how the command ended.
// Users:     tools/mpclaunch/main.cpp: mpcrun becomes the shim in each process of such a job.
// Threads:   one; output has one of its own.
// See also:  docs/design/0032-hosted-ranks.md, runtime/wireup/hosted.h (the rank's end).

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/acceptor.h"
#include "base/clock.h"
#include "base/result.h"
#include "runtime/wireup/record.h"
#include "tools/mpclaunch/line_pump.h"
#include "tools/mpclaunch/loop.h"

namespace mpc::launch {

struct ShimSpec {
  int rank = 0, ranks = 1;
  int launcher = -1;         // a socket, as in any process of a job
  std::vector<char*> words;  // the command, null at the end
};

class Shim {
 public:
  // `signals`: blocked by the caller; `before`: the previous mask, for the command.
  Shim(ShimSpec spec, const sigset_t& signals, const sigset_t& before);
  Shim(const Shim&) = delete;
  // Runs until the command has ended. Returns its status in the form of a shell.
  int run();

 private:
  enum class Seat { kFree, kTaken, kLeft };  // kLeft: its rank has called MPI_Finalize

  Result<> listen();
  Result<> start_command();
  [[noreturn]] void become_command(int problem);
  void watch_spawner();
  void forget_spawner();
  void spawner_has_ended();
  void admit();
  void take_records();
  void rank_has_ended();
  void take_orders();
  void take_signals();
  bool has_come_to_rank(int signal) const;
  void pass_on(int signal) const;
  void reap();
  bool begin_end(bool has_grace, int signal);
  void keep_deadlines();
  int report_end();
  void report_lost_output();
  void tell(wireup::Report kind, int status, std::string_view text);
  void tell_missing_finalize(const std::string& how);
  std::string who() const;

  const ShimSpec spec_;
  const sigset_t before_;
  Loop loop_;
  LinePump pump_;
  const int signals_;  // signalfd
  int listener_ = -1;
  Acceptor acceptor_{"a rank's process"};
  std::string address_;
  Seat seat_ = Seat::kFree;
  int rank_socket_ = -1, rank_pidfd_ = -1;
  int spawner_ = -1;  // of the process that has spawned this job
  pid_t rank_pid_ = -1, command_ = -1;
  int command_status_ = 0;  // of waitpid()
  bool has_command_ended_ = false;
  bool is_ending_ = false;  // by an order
  bool has_told_finished_ = false;
  bool has_told_end_ = false;  // the rank or the shim has reported why the job ends
  // Signals that end the job and came here; bit N - 1: signal N.
  uint64_t ends_seen_ = 0;
  Deadline explain_ns_ = 0, kill_ns_ = 0;
};

}  // namespace mpc::launch
