#pragma once
// Hosts: the other hosts of a job, as its head sees them.
//
// Role:      starts a daemon on each by the agent, waits until all have connected, passes on
//            messages in both directions. Knows neither ranks nor reasons.
// Users:     tools/mpclaunch/head.h.
// Threads:   that of the loop.
// See also:  tools/mpclaunch/daemon.h, docs/design/0023-daemons.md.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/mpclaunch/agent.h"
#include "tools/mpclaunch/channel.h"
#include "tools/mpclaunch/entrance.h"
#include "tools/mpclaunch/plan.h"

namespace mpc::launch {

class Hosts {
 public:
  using OnFrame = std::function<void(int host, Frame kind, std::string_view payload)>;
  // The job cannot start there, or the host is lost; `problem` is one line.
  using OnLost = std::function<void(int host, std::string problem)>;

  Hosts(Loop& loop, const Plan& plan, OnFrame on_frame, OnLost on_lost);

  // Runs the agents. Errors: kSystem.
  Result<> start(const std::string& agent);
  bool are_all_connected() const;
  // The names of those that are not, by commas.
  std::string missing() const;
  // No more daemons are accepted. Caller: not from the loop.
  void close_entrance() { entrance_.close(); }
  void agent_ended(pid_t pid, int wait_status);
  // Gives up hosts that take too long. Call it from time to time while not all are connected.
  void keep_deadlines();

  // No effect for a host that is lost, or for our own.
  void send(int host, Frame kind, const Packer& payload);
  void send_all(Frame kind, const Packer& payload);
  std::vector<int> descriptors() const;
  // "on host b".
  std::string name_of(int host) const;

 private:
  struct Host {
    explicit Host(Loop& loop) : agent(loop) {}
    Agent agent;
    std::unique_ptr<Channel> channel;
    bool is_greeted = false;  // it has this version
    bool is_lost = false;
  };
  void let_in(int host, int fd);
  void take(int host, Frame kind, std::string_view payload);
  void lose(int host, const std::string& problem);

  Loop& loop_;
  const Plan& plan_;
  const OnFrame on_frame_;
  const OnLost on_lost_;
  Entrance entrance_;
  std::string agent_;
  std::vector<std::unique_ptr<Host>> hosts_;  // as in the plan; null: ours
  uint64_t connected_by_ns_ = 0;
};

}  // namespace mpc::launch
