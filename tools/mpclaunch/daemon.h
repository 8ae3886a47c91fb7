#pragma once
// Daemon: the part of a job's launcher on each host other than that of mpcrun.
//
// Role:      starts the processes of its host and is their PMIx server; passes on their output and
//            reports, and the head's orders. Without the head it kills them and ends itself.
// Users:     tools/mpclaunch/main.cpp.
// Threads:   one; PMIx has one of its own.
// See also:  tools/mpclaunch/head.h, docs/design/0023-daemons.md.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tools/mpclaunch/channel.h"
#include "tools/mpclaunch/children.h"
#include "tools/mpclaunch/loop.h"
#include "tools/mpclaunch/outlet.h"
#include "tools/mpclaunch/pmix_server.h"
#include "tools/mpclaunch/start_frame.h"

namespace mpc::launch {

class Daemon final : private Relay {
 public:
  // `connection`: to the head. `signals`: blocked by the caller, SIGCHLD among them; `before`: the
  // previous mask.
  Daemon(int connection, const sigset_t& signals, const sigset_t& before);
  ~Daemon() override;
  // Runs until the head closes the connection.
  [[noreturn]] void run();

 private:
  void take(Frame kind, std::string_view payload);
  Result<> start(const StartFrame& start);
  Result<> start_processes(const Plan& plan, const StartFrame& start);
  Result<> open_input(const Plan& plan, const StartFrame& start);
  void take_input(std::string_view text);
  void write_input();
  void close_input();
  void tell_ends();
  void look_up(int64_t number, int process);
  void fence(std::string put) override;
  void ask(int64_t number, int process) override;

  Loop loop_;
  std::unique_ptr<Channel> head_;
  Outlet outlet_;
  Children children_;
  const int signals_;
  const sigset_t before_;
  std::vector<std::pair<int, int>> ended_;  // processes, wait statuses: not reported
  int input_for_child_ = -1, input_ = -1;   // a pipe
  std::string input_text_;                  // text for which the pipe has no room yet
  bool is_input_over_ = false;
};

// Reads what the head has left on standard input, and connects to it. Errors: kSystem.
Result<int> connect_to_head();

}  // namespace mpc::launch
