#pragma once
// Backends: the kinds of Wireup that connect() chooses from.
//
// Role:      one process, or several that a launcher has started.
// Users:     runtime/wireup.
// Threads:   the process's main thread.
// See also:  runtime/wireup/wireup.h.

#include <memory>

#include "runtime/wireup/wireup.h"

namespace mpc::wireup {

std::unique_ptr<Wireup> alone();
// Loads the library behind it. The descriptors are of kLauncherVariable.
// Errors: kSystem, kUnsupported.
Result<std::unique_ptr<Wireup>> several(int socket, int console_memory);

}  // namespace mpc::wireup
