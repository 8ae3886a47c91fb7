#pragma once
// PmixServer: the PMIx server by which the processes of a job find each other.
//
// Role:      tells each process of this host which one it is, and collects what they put. The data
//            of processes of other hosts are exchanged through a Relay.
// Users:     tools/mpclaunch.
// Threads:   the main thread; the library answers on one of its own.
// See also:  runtime/wireup/pmix (the client), docs/design/0022-launcher.md, 0023-daemons.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/mpclaunch/plan.h"

namespace mpc::launch {

// Questions of one host to the others. Caller of both: the library's thread.
class Relay {
 public:
  virtual ~Relay() = default;
  // All processes of this host have come to a fence: fence_done() with what those of all hosts
  // have put.
  virtual void fence(std::string put) = 0;
  // What has that process, of another host, put? The reply is answer() with the same number.
  virtual void ask(int64_t number, int process) = 0;
};

class PmixServer {
 public:
  // `relay`: null if there is one host. Creates no files. Caller: with signals blocked, which
  // the library's thread inherits. Errors: kSystem.
  static Result<> start(const Plan& plan, int host, const std::string& job,
                        Relay* relay);
  // The variables for the environment of a process of this host, as NAME=VALUE. Errors: kSystem.
  static Result<std::vector<std::string>> environment_of(int process);

  static void fence_done(std::string_view put);
  static void answer(int64_t number, int status, std::string_view put);
  // What has that process, of this host, put? Waits for it if it has not put anything yet. Calls
  // `done` on the library's thread.
  using Answered = void (*)(void* context, int status, std::string_view put);
  static void look_up(int process, Answered done, void* context);
};

}  // namespace mpc::launch
