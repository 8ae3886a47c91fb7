#pragma once
// Backends: the kinds of Wireup that connect() chooses from.
//
// Role:      one process, or several that a launcher has started: ours, or another one with PMIx.
// Users:     runtime/wireup.
// Threads:   the process's main thread.
// See also:  runtime/wireup/wireup.h.

#include <memory>
#include <string>
#include <vector>

#include "runtime/wireup/starter.h"
#include "runtime/wireup/wireup.h"

namespace mpc::wireup {

std::unique_ptr<Wireup> alone();
// The values that it has left in the environment: kLauncherVariable,
// kRanksVariable, kInterfacesVariable.
struct FromLauncher {
  int socket = -1, console_memory = -1;
  std::vector<int> ranks;  // of each process; empty: as equal as possible
  std::string interfaces;
  bool goes_on = false;  // kGoesOnVariable
};
// Loads the library behind it. Errors: kSystem, kUnsupported.
Result<std::unique_ptr<Wireup>> several(FromLauncher launcher);
// Loads the library behind it. Alone, if the launcher has started only one process. Only those
// processes return a text that have to print it. Errors: kSystem, kUnsupported, kArg.
Result<std::unique_ptr<Wireup>> guest(const Starter& starter,
                                      const Wireup::Terms& terms);

}  // namespace mpc::wireup
