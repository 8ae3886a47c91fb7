#pragma once
// open_modex: loads the library that wraps the process manager's client.
//
// Role:      a job of one process never calls it.
// Users:     runtime/wireup (several, guest).
// Threads:   the process's main thread.
// See also:  runtime/wireup/modex.h.

#include <memory>

#include "base/result.h"
#include "runtime/wireup/modex.h"

namespace mpc::wireup {

// Errors: kUnsupported: there is no such library; kSystem: there is no process manager.
Result<std::unique_ptr<Modex>> open_modex();

}  // namespace mpc::wireup
