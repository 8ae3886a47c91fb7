#pragma once
// Children: the processes of a job on this host, as seen by the process that has started them.
//
// Role:      starts mpcrun once more for each, with a socket for reports and the numbers of the
//            descriptors that it shares; passes on their reports, and how they end.
// Users:     tools/mpclaunch/head.h (one host, and the head's own), tools/mpclaunch/daemon.h.
// Threads:   that of the loop.
// See also:  runtime/wireup/record.h.

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/wireup/record.h"
#include "tools/mpclaunch/loop.h"

namespace mpc::launch {

// The settings that are the same for all children.
struct StartOfChildren {
  std::string program;                 // mpcrun
  std::vector<std::string> arguments;  // with its name
  std::string ranks_variable;          // Plan::ranks_variable()
  int console_memory = -1;
  int input = -1;               // standard input of process 0; -1: ours
  int output = -1, error = -1;  // -1: ours
  sigset_t signals{};           // the mask to start with
};

class Children {
 public:
  using OnRecord = std::function<void(int process, const wireup::RecordHead& head,
                                      std::string text)>;
  using OnEnd = std::function<void(int process, int wait_status)>;

  Children(Loop& loop, OnRecord on_record, OnEnd on_end);

  // `environment`: in addition to that of this process. Errors: kSystem.
  Result<> start(int process, const StartOfChildren& how,
                 const std::vector<std::string>& environment);
  // No effect on a process that has ended already, or that was never here.
  void order(int process, wireup::Order order, int status = 0) const noexcept;
  // -1: all of them, but not `spared`.
  void kill(int process, int spared = -1) const noexcept;
  // As order().
  void signal(int process, int signal) const noexcept;
  // Caller: after SIGCHLD. `other` is called for children that do not belong to the job.
  void reap(const std::function<void(pid_t, int wait_status)>& other = nullptr);
  bool are_any() const noexcept { return !running_.empty(); }

 private:
  struct Running {
    pid_t pid = -1;
    int socket = -1;
  };
  void take_records(int process);
  void close_socket(Running& child);

  Loop& loop_;
  const OnRecord on_record_;
  const OnEnd on_end_;
  std::map<int, Running> running_;
};

}  // namespace mpc::launch
