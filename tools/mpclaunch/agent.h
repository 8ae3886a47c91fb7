#pragma once
// Agent: the command that starts a daemon on another host: ssh, or what --agent names.
//
// Role:      runs the command, hands the daemon its secret over standard input, stores its
//            messages.
// Users:     tools/mpclaunch (hosts.h; shim.cpp: own_program).
// Threads:   that of the loop.
// See also:  docs/cluster.md.

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "tools/mpclaunch/loop.h"

namespace mpc::launch {

class Agent {
 public:
  explicit Agent(Loop& loop) : loop_(loop) {}
  ~Agent();
  Agent(const Agent&) = delete;

  // Runs "COMMAND HOST MPCLAUNCH --daemon" with `first_line` as its input, in a session of its own:
  // Ctrl-C is for the head, and the agent cannot ask for a password.
  // Errors: kSystem.
  Result<> start(const std::string& command, const std::string& host,
                 const std::string& first_line);
  pid_t pid() const noexcept { return pid_; }
  // The last lines that it has written, without the last newline.
  std::string said();

 private:
  void hear();

  Loop& loop_;
  pid_t pid_ = -1;
  int output_ = -1;
  std::string said_;
};

// The agent that starts a daemon unless the user names another one.
extern const char kDefaultAgent[];
// The path of this program, which is the same on the other hosts.
std::string own_program();

}  // namespace mpc::launch
