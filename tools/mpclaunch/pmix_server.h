#pragma once
// PmixServer: the processes of a job find each other by PMIx, and this is the server they ask.
//
// Role:      tells each process which one it is, and collects what they put. One host.
// Users:     tools/mpclaunch/main.cpp.
// Threads:   the main thread; the library answers on one of its own.
// See also:  runtime/wireup/pmix (the client), docs/design/0022-launcher.md.

#include <string>
#include <vector>

#include "base/result.h"

namespace mpc::launch {

class PmixServer {
 public:
  // Leaves no file anywhere. Caller: signals are blocked, which the library's thread inherits.
  // Errors: kSystem.
  static Result<> start(int processes);
  // What the process finds in its environment, NAME=VALUE each. Errors: kSystem.
  static Result<std::vector<std::string>> environment_of(int process);
};

}  // namespace mpc::launch
